// Runs before the first paint, so it is a classic script in the head. It applies the chosen colours, which are no
// secret, and loads the program only after that paint, which would otherwise wait until thirty modules are read.
(() => {
  const load = () => document.head.append(document.querySelector("#program").content);
  addEventListener("DOMContentLoaded", () => {
    // A hidden tab is not painted until somebody looks at it.
    if (document.visibilityState === "hidden") load();
    else requestAnimationFrame(() => setTimeout(load));
  });

  const choice = localStorage.getItem("sluice.theme");
  if (choice === "light" || choice === "dark") document.documentElement.dataset.theme = choice;
})();
