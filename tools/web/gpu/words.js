// Words, numbers and elements, for all parts of the page.
export const texts = {}; // texts.json, in the language of the page; page.js fetches it

/** An element made of HTML that is ours, texts.json and steps.json. What a reader wrote goes in as text, never here. */
export function made(html) {
  const template = document.createElement("template");
  template.innerHTML = html.trim();
  return template.content.firstElementChild;
}

/** The text with its gaps, such as {name}, filled. */
export const filled = (text, values = {}) => text.replace(/\{(\w+)\}/g, (gap, name) => values[name] ?? gap);

const LANGUAGE = document.documentElement.lang || "en";
export const number = (value) => new Intl.NumberFormat(LANGUAGE, { maximumSignificantDigits: 3 }).format(value);
export const count = (value) => new Intl.NumberFormat(LANGUAGE).format(value);
export const percent = (value) => `± ${number(Math.round(1000 * value) / 10)} %`;
export function seconds(value) {
  if (value >= 1) return `${number(value)} s`;
  return value >= 1e-3 ? `${number(value * 1e3)} ms` : `${number(value * 1e6)} µs`;
}
