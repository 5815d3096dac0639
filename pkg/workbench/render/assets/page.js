/* SPDX-FileCopyrightText: The Graft authors; SPDX-License-Identifier: Apache-2.0 */
(() => {
  "use strict";
  const find = (selector) => [...document.querySelectorAll(selector)];
  const objects = find("section.object");
  const folds = objects.map((object) => object.querySelector("details"));
  const form = document.querySelector(".filter");

  /* What a link leads to is opened. */
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const fold = target && target.querySelector(":scope > details");
    if (fold) {
      fold.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", reveal);
  reveal();

  /* On paper everything is open, and afterwards as it was. */
  let before = [];
  addEventListener("beforeprint", () => {
    before = folds.map((fold) => fold.open);
    folds.forEach((fold) => { fold.open = true; });
  });
  addEventListener("afterprint", () => folds.forEach((fold, i) => { fold.open = before[i]; }));

  if (!form) return;
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  const text = document.getElementById("text");
  const rule = document.getElementById("rule");
  const shown = document.getElementById("shown");
  const names = objects.map((object) => (object.querySelector("summary").textContent + " " +
    (object.querySelector(".for")?.textContent ?? "")).toLowerCase());

  /* Objects of this name on which this rule had a say; lines of other rules step back. */
  const filter = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    objects.forEach((object, i) => {
      const ruled = !rule.value || [...object.querySelectorAll("[data-rule]")].some((line) => line.dataset.rule === rule.value);
      const wanted = ruled && words.every((word) => names[i].includes(word));
      object.hidden = !wanted;
      const entry = document.querySelector('[data-s="' + object.id + '"]');
      if (entry) entry.hidden = !wanted;
      if (wanted) count++;
    });
    find("[data-rule]").forEach((line) => line.classList.toggle("other", rule.value !== "" && line.dataset.rule !== rule.value));
    document.getElementById("none").hidden = count > 0;
    shown.textContent = count === objects.length ? "" : count + " of " + objects.length;
  };
  text.addEventListener("input", filter);
  rule.addEventListener("change", filter);
  document.getElementById("open").addEventListener("click", () => folds.forEach((fold) => { fold.open = true; }));
  document.getElementById("close").addEventListener("click", () => folds.forEach((fold) => { fold.open = false; }));
  if (text.value || rule.value) filter();
})();
