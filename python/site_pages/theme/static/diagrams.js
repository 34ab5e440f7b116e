// Draws the page's diagrams in the theme that is in force, and again when the reader changes it.
(() => {
  const smallestScale = 0.7; // below it, letters are hard to read; a diagram that is wider scrolls
  const diagrams = [...document.querySelectorAll("pre.mermaid")].map((element) => ({ element, source: element.textContent }));
  let drawn = Promise.resolve();

  async function draw() {
    const dark = document.documentElement.dataset.theme === "dark";
    mermaid.initialize({
      startOnLoad: false,
      securityLevel: "strict",
      deterministicIds: true, // others are of the time, and two diagrams of one millisecond would be drawn into one
      theme: dark ? "dark" : "neutral",
      flowchart: { wrappingWidth: 260 },
    });
    for (const { element, source } of diagrams) {
      element.removeAttribute("data-processed");
      element.textContent = source;
    }
    await mermaid.run({ nodes: diagrams.map(({ element }) => element) });
    for (const { element } of diagrams) {
      const svg = element.querySelector("svg");
      svg.style.minWidth = `${svg.viewBox.baseVal.width * smallestScale}px`;
    }
  }

  // One after the other: a drawing that began earlier must not end later.
  const redraw = () => (drawn = drawn.then(draw));
  redraw();
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
})();
