"use strict";

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function key(cell) {
  const text = cell.dataset.key ?? cell.textContent.trim();
  const number = Number(text === "inf" ? Infinity : text);
  return text === "" ? null : Number.isNaN(number) ? text : number;
}

function compare(a, b) {
  if (typeof a === typeof b) return typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b || 0;
  return typeof a === "number" ? -1 : 1;
}

function sort(table, head, column) {
  const next = { none: "ascending", ascending: "descending", descending: "none" };
  const order = next[head.getAttribute("aria-sort")];
  for (const other of table.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", order);
  const sign = order === "descending" ? -1 : 1;
  const rows = [...table.tBodies[0].rows].map((row) => ({ row, key: key(row.cells[column]), place: Number(row.dataset.place) }));
  rows.sort((a, b) => {
    if (order === "none") return a.place - b.place;
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
    return sign * compare(a.key, b.key) || a.place - b.place;
  });
  table.tBodies[0].append(...rows.map(({ row }) => row));
}

function makeSortable(table) {
  [...table.tBodies[0].rows].forEach((row, place) => { row.dataset.place = place; });
  [...table.tHead.rows[table.tHead.rows.length - 1].cells].forEach((head, column) => {
    const button = element("button", { type: "button" }, ...head.childNodes);
    button.addEventListener("click", () => sort(table, head, column));
    head.setAttribute("aria-sort", "none");
    head.append(button);
  });
}

function makeFilterable(table) {
  const sheet = table.closest(".sheet");
  const rows = [...table.tBodies[0].rows];
  const title = sheet.querySelector("h2, h3").textContent;
  const field = element("input", { type: "search", placeholder: "Filter rows", "aria-label": `Filter rows of ${title}` });
  const count = element("output", { "aria-live": "polite" });
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = words.length ? `${shown} of ${rows.length}` : "";
  });
  controls(table).append(field, count);
}

function controls(table) {
  const sheet = table.closest(".sheet");
  if (!sheet.querySelector(".controls")) table.closest(".scroll").before(element("div", { class: "controls" }));
  return sheet.querySelector(".controls");
}

function makeViews(table) {
  const columns = [...table.querySelectorAll("col")];
  const names = [...new Set(columns.map((column) => column.dataset.view).filter(Boolean))];
  if (!names.length) return;
  const select = element("select", { "data-views": "" }, ...names.map((name) => element("option", {}, name)));
  const rows = [table.tHead.rows[table.tHead.rows.length - 1], ...table.tBodies[0].rows];
  const show = () => {
    const off = columns.map(({ dataset }) => Boolean(dataset.view) && dataset.view !== select.value);
    for (const row of rows) off.forEach((hidden, i) => row.cells[i].classList.toggle("off", hidden));
    for (const head of table.querySelectorAll(".groups [data-view]")) head.classList.toggle("off", head.dataset.view !== select.value);
  };
  select.addEventListener("change", show);
  controls(table).append(element("label", {}, "columns ", select));
  show();
}

function makeStudy(study) {
  const select = study.querySelector("[data-study]");
  const show = () => {
    for (const sheet of study.querySelectorAll(".sheet")) sheet.classList.toggle("off", sheet.id !== select.value);
  };
  select.addEventListener("change", show);
  show();
}

function makeGallery(gallery) {
  const list = gallery.querySelector(".cards");
  const cards = [...list.children];
  const count = gallery.querySelector("output");
  const claim = gallery.querySelector("[data-claim]");
  const order = gallery.querySelector("[data-order]");
  const filters = [...gallery.querySelectorAll("[data-filter]")];

  function showClaim(card) {
    const proven = JSON.parse(card.dataset.bounds)[claim.value];
    card.dataset.lower = proven.reduce((sum, [lower]) => sum + lower, 0) / proven.length;
    [...card.querySelectorAll(".radii > li")].forEach((row, i) => {
      const [lower, upper, survival, text] = proven[i];
      const bar = row.querySelector(".bar");
      bar.style.setProperty("--lower", `${100 * lower}%`);
      bar.style.setProperty("--upper", `${100 * (upper ?? 1)}%`);
      bar.style.setProperty("--survival", survival === null ? "-1%" : `${100 * survival}%`);
      row.querySelector(".proven").textContent = text;
    });
  }

  function update() {
    if (claim) cards.forEach(showClaim);
    for (const card of cards) {
      card.hidden = !filters.every(({ value, dataset }) => !value || card.dataset[dataset.filter] === value);
    }
    const sign = { lower: 1, "-lower": -1, place: 0 }[order.value];
    list.append(...[...cards].sort((a, b) => sign * (a.dataset.lower - b.dataset.lower) || a.dataset.place - b.dataset.place));
    const shown = cards.filter((card) => !card.hidden).length;
    count.textContent = `${shown} of ${cards.length}`;
  }

  gallery.addEventListener("change", update);
  update();
}

for (const table of document.querySelectorAll("table.data")) {
  makeSortable(table);
  makeViews(table);
  if (table.tBodies[0].rows.length > 5) makeFilterable(table);
}
document.querySelectorAll(".study").forEach(makeStudy);
document.querySelectorAll(".gallery").forEach(makeGallery);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
