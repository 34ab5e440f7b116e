// Lets long names in tables break where a reader would break them, so that fewer tables have to scroll.
for (const cell of document.querySelectorAll(".bd-article td")) {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const names = [];
  while (texts.nextNode()) if (/\S{24}/.test(texts.currentNode.data)) names.push(texts.currentNode);
  for (const name of names) {
    name.parentElement.style.whiteSpace = "normal";
    const parts = name.data.split(/(?<=[./=,(])(?=\S)|(?<=[a-z])(?=[A-Z])/);
    name.replaceWith(...parts.flatMap((part, index) => (index === 0 ? [part] : [document.createElement("wbr"), part])));
  }
}

// A reader who comes from the search begins where the page has what was searched for. Sphinx marks that a moment later;
// it does not by itself where the theme has the search on every page.
window.addEventListener("load", () => {
  if (document.getElementById("search-results") !== null) return;
  SphinxHighlight.highlightSearchWords();
  const show = () => document.querySelector(".bd-article .highlighted")?.scrollIntoView({ block: "center" });
  if (location.hash === "") setTimeout(show, 100);
});
