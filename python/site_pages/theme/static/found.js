// A reader who comes from the search begins where the page has what was searched for.
window.addEventListener("load", () => {
  if (location.hash === "") document.querySelector(".bd-article .highlighted")?.scrollIntoView({ block: "center" });
});
