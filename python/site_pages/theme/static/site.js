// Lets long names break where a reader would break them, so that fewer tables have to scroll.
const names = [];
const texts = document.createTreeWalker(document.querySelector(".bd-article") ?? document.createElement("p"), NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const name = texts.currentNode;
  if (/\S{24}/.test(name.data) && name.parentElement.closest("pre, dt") === null) names.push(name);
}
for (const name of names) {
  name.parentElement.style.whiteSpace = "normal";
  const parts = name.data.split(/(?<=[./=,(])(?=\S)|(?<=[a-z])(?=[A-Z])/);
  name.replaceWith(...parts.flatMap((part, index) => (index === 0 ? [part] : [document.createElement("wbr"), part])));
}

// A reader who comes from the search begins where the page has what was searched for. Sphinx marks that a moment later;
// it does not by itself where the theme has the search on every page.
window.addEventListener("load", () => {
  if (document.getElementById("search-results") !== null) return;
  SphinxHighlight.highlightSearchWords();
  const show = () => document.querySelector(".bd-article .highlighted")?.scrollIntoView({ block: "center" });
  if (location.hash === "") setTimeout(show, 100);
});
