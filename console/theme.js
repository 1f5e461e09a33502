// Applies the chosen colours before the first paint, so it is a classic script in the head. The choice is no secret.
(() => {
  const choice = localStorage.getItem("sluice.theme");
  if (choice === "light" || choice === "dark") document.documentElement.dataset.theme = choice;
})();
