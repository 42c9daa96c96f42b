// What Sphinx's search puts first: a term of the glossary (it gives 100), a name of the reference, a heading, words.
// A field or method whose path only holds what is asked, as in helpers.instruments.warps.Table.rows, comes last.
var Scorer = {
  score: ([, title, , , score, , kind]) =>
    score + (kind === "title" ? 20 : 0) - (score < 60 && /\.[A-Z]\w*\.\w+$/.test(title) ? 10 : 0),
  objNameMatch: 60, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 25, partialTitle: 7, term: 5, partialTerm: 2,
};
// Chinese has no spaces: what is asked is cut into the longest words that the index has.
var splitQuery = (query) => query.split(/[^\p{Letter}\p{Number}_]+/gu).filter((part) => part).flatMap((part) => {
  if (!/\p{Script=Han}/u.test(part)) return [part];
  const words = [], { terms, titleterms } = Search._index;
  for (let at = 0, long; at < part.length; at += long) {
    const word = () => part.slice(at, at + long);
    for (long = part.length - at; long > 1 && !Object.hasOwn(terms, word()) && !Object.hasOwn(titleterms, word());) long--;
    if (long > 1) words.push(word());
  }
  return words;
});
