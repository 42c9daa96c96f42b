// The theme listens to the first button of each side bar in the page, which stands in the header that is hidden.
for (const side of ["primary", "secondary"])
  document.querySelector(`.bd-header-article .${side}-toggle`)
    ?.addEventListener("click", () => document.querySelector(`#pst-header .${side}-toggle`).click());
// The switch of languages leads to the same place: the headings of both pages are the same in number and order. It takes
// along what was searched for.
const headings = [...document.querySelectorAll("article h1, article h2, article h3")];
document.querySelector("a.language")?.addEventListener("click", (event) => {
  const above = headings.filter((heading) => heading.getBoundingClientRect().top < 160).length;
  event.currentTarget.search = location.search;
  if (above > 1) event.currentTarget.hash = `heading-${above}`;
});
const asked = location.hash.match(/^#heading-(\d+)$/);
if (asked) headings[asked[1] - 1]?.scrollIntoView();
// A short formula is not broken at the end of a line.
for (const code of document.querySelectorAll("article :is(p, li) code")) code.classList.toggle("short", code.textContent.length < 12);
// What the theme has in English only.
const chinese = document.documentElement.lang.startsWith("zh"), inChinese = {
  "System Settings": "跟随系统", "Color mode": "颜色模式", "Toggle primary sidebar": "课程目录",
  "Toggle secondary sidebar": "本页目录", "Main": "课程目录", "Page": "本页目录",
};
for (const named of chinese ? document.querySelectorAll("[title], [aria-label], .theme-change-button") : []) {
  for (const name of ["title", "aria-label"]) if (inChinese[named.getAttribute(name)]) named.setAttribute(name, inChinese[named.getAttribute(name)]);
  if (inChinese[named.lastChild?.data]) named.lastChild.data = inChinese[named.lastChild.data];
}
// The side bar is a landmark with its title and its search, and the corner of a table no heading without words.
document.querySelector("#pst-primary-sidebar")?.setAttribute("role", "complementary");
document.querySelector("#pst-primary-sidebar")?.setAttribute("aria-label", chinese ? "侧栏" : "Side bar");
for (const corner of document.querySelectorAll("article th:has(> p:only-child:empty)")) corner.replaceWith(document.createElement("td"));
// Paper is white: who reads in the dark prints in the colours of the day.
const root = document.documentElement;
let theme;
addEventListener("beforeprint", () => { theme = root.dataset.theme; root.dataset.theme = "light"; });
addEventListener("afterprint", () => { root.dataset.theme = theme; });
// A table has columns: at least two lines with a wide gap between words, and three where a line is a verdict, in words.
// A number before a bar is that of a line of code.
const gap = /\S(?: {3,}|\t)\S|^(?! *\d+ *[|│]).*\S *[|│] *\S/;
for (const words of document.querySelectorAll("article :is(.cell_output, .highlight-default) pre")) {
  const rows = words.textContent.split("\n").filter((line) => gap.test(line)).length;
  if (rows > (/^[✓✗…]/m.test(words.textContent) ? 2 : 1)) words.classList.add("table");
}
// Code keeps its shape on a phone: a line that is folded goes on below its own first letter.
for (const code of document.querySelectorAll("article :is(.cell_input, .highlight-python) pre")) {
  const indents = code.textContent.split("\n").map((line) => line.search(/\S|$/));
  code.innerHTML = code.innerHTML.replace(/\n$/, "").split("\n")
    .map((line, at) => `<span class="line" style="--indent: ${indents[at]}ch">${line}\n</span>`).join("");
}
// The glossary shows the terms that one asks for.
const filter = document.querySelector(".filter");
if (filter) filter.hidden = false;
filter?.addEventListener("input", ({ target }) => {
  const asked = target.value.trim().toLowerCase();
  for (const meaning of document.querySelectorAll("article dl.glossary dd")) {
    const entry = [meaning];
    while (entry[0].previousElementSibling?.tagName === "DT") entry.unshift(entry[0].previousElementSibling);
    const hidden = !entry.some((part) => part.textContent.toLowerCase().includes(asked));
    entry.forEach((part) => { part.hidden = hidden; });
  }
});
// The theme calls some things by another name than the one that is written on them.
for (const named of document.querySelectorAll(".search-button-field, article summary")) named.removeAttribute("aria-label");
// The search shows what a page says, and neither what the theme puts around it nor what is folded; of a term, its meaning.
if (typeof Search !== "undefined") {
  const plain = Search.htmlToText;
  Search.htmlToText = (html, anchor) => {
    const article = new DOMParser().parseFromString(html, "text/html").querySelector("article");
    if (!article) return plain(html, anchor);
    article.querySelectorAll(".no-search, .headerlink, details.above-input").forEach((part) => part.remove());
    const term = anchor && article.querySelector(`dt[id="${anchor.slice(1)}"]`), said = [term?.textContent];
    for (let part = term?.nextElementSibling; part; part = part.tagName === "DT" && part.nextElementSibling) said.push(part.textContent);
    return term ? said.join(" · ") : plain(`<div role="main">${article.innerHTML}</div>`, anchor);
  };
  // An excerpt begins and ends with a whole word; a page may be found more than once, so places are counted.
  const excerpt = Search.makeSearchSummary;
  Search.makeSearchSummary = (...page) => {
    const shown = excerpt(...page);
    if (shown) shown.textContent = shown.textContent.replace(/^\.{3}[\w'-]*/, "… ").replace(/[\w'-]*\.{3}$/, " …");
    return shown;
  };
  Documentation.ngettext = (one, many, count) => chinese ? `找到 ${count} 处。` : `Found in ${count} ${count === 1 ? "place" : "places"}.`;
}
// What runs on the reader's GPU is fetched where a page has a place for it; where a button asks first, at its press. A
// page that is a file fetches nothing, and an exercise is to be read where there is no WebGPU.
const gpuPage = new URL("gpu/page.js", document.currentScript.src);
const missing = (place) => { place.dataset.missing = ""; };
const mount = async (place, asked) => {
  delete place.dataset.failed;
  try { await (await import(gpuPage)).mount([place], asked); } catch (error) {
    const said = place.querySelector(":scope > .gpu-failed > span");
    if (!said) throw error; // the part stands there, and failed later
    said.textContent = error.message;
    place.dataset.failed = "";
  }
};
for (const place of document.querySelectorAll("[data-gpu]")) {
  const button = place.querySelector(":scope > .gpu-ask");
  if (location.protocol === "file:") missing(place);
  else if (!button) mount(place);
  else if (place.dataset.gpu === "own" && !navigator.gpu) place.dataset.unable = "";
  else {
    try { if (localStorage.getItem(`matmul-ladder/${place.dataset.step}/solved`)) button.append(" ✓"); } catch {}
    button.hidden = false;
    let coming;
    button.addEventListener("click", () => { coming ??= mount(place, true).finally(() => { coming = null; }); });
    place.dataset.ready = "";
  }
}
