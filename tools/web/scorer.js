// What Sphinx's search puts first: the glossary's entry for a term, then a name of the reference, headings, words.
var Scorer = {
  objNameMatch: 30, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 25, partialTitle: 7, term: 5, partialTerm: 2,
};
