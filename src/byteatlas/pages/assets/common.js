"use strict";
// One snippet at a time; without this script all are shown.
{
  const tabs = [...document.querySelectorAll(".tab")];
  const row = document.querySelector(".tabs");
  const show = (chosen) => tabs.forEach((tab, i) => {
    tab.hidden = i !== chosen;
    row.children[i].setAttribute("aria-selected", String(i === chosen));
  });
  tabs.forEach((tab, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("role", "tab");
    button.textContent = tab.dataset.title;
    button.addEventListener("click", () => show(i));
    row.append(button);
  });
  if (tabs.length) show(0);
}

const phone = matchMedia("(max-width: 899px)");
if (phone.matches) document.querySelector(".tree")?.removeAttribute("open");
