// Runs before the first paint, so it is a classic script in the head: it applies the chosen colours, which are no
// secret. The program comes after that paint, which would wait for the reading of thirty modules otherwise.
(() => {
  const choice = localStorage.getItem("sluice.theme");
  if (choice === "light" || choice === "dark") document.documentElement.dataset.theme = choice;

  const load = () => document.head.append(document.querySelector("#program").content);
  addEventListener("DOMContentLoaded", () => {
    // A hidden tab is not painted until somebody looks at it.
    if (document.visibilityState === "hidden") load();
    else requestAnimationFrame(() => setTimeout(load));
  });
})();
