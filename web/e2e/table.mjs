// A table of orders that is the same every time, and its figures computed here,
// independently of the program under test.
export const makeOrders = (n) => {
  let seed = 42;
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const regions = ['North', 'South', 'East', 'West'], products = ['Lamp', 'Chair', 'Desk', 'Shelf', 'Sofa'];
  const orders = [];
  for (let i = 0; i < n; i++) {
    const units = 1 + Math.floor(random() * 20), cents = 500 + Math.floor(random() * 40_000);
    orders.push({
      order_id: 100_000 + i,
      date: new Date(Date.UTC(2025, 0, 1) + Math.floor(random() * 365) * 86_400_000).toISOString().slice(0, 10),
      region: regions[Math.floor(random() ** 1.5 * regions.length)],
      product: products[Math.floor(random() * products.length)],
      units,
      unit_price: cents / 100,
      revenue: Math.round(units * cents) / 100,
    });
  }
  return orders;
};

export const toCSV = (rows) => [Object.keys(rows[0]).join(','), ...rows.map((r) => Object.values(r).join(','))].join('\n') + '\n';

export const figures = (rows, column) => {
  const sorted = rows.map((r) => r[column]).sort((a, b) => a - b), mid = sorted.length / 2;
  const sum = sorted.reduce((a, b) => a + b, 0);
  return {
    sum, mean: sum / sorted.length, min: sorted[0], max: sorted.at(-1),
    median: sorted.length % 2 ? sorted[Math.floor(mid)] : (sorted[mid - 1] + sorted[mid]) / 2,
  };
};

export const tally = (rows, column) => {
  const n = new Map();
  for (const r of rows) n.set(r[column], (n.get(r[column]) ?? 0) + 1);
  return [...n].sort((a, b) => b[1] - a[1]);
};

// numbersIn finds the numbers of a text, with the decimals each is written with.
// Commas and thin spaces between groups of three digits belong to a number.
export const numbersIn = (text) => [...text.matchAll(/-?\d+(?:[,\u00a0\u2009\u202f]\d{3})*(?:\.\d+)?/g)].map(([s]) => ({
  value: Number(s.replace(/[,\u00a0\u2009\u202f]/g, '')), decimals: s.split('.')[1]?.length ?? 0,
}));

// tells says whether a text has a number, rounded to the decimals it is written
// with, but to no fewer significant digits than four.
export const tells = (text, value) => numbersIn(text).some((n) => {
  const error = Math.abs(n.value - value);
  return error <= 0.5 * 10 ** -n.decimals + 1e-9 && error <= Math.abs(value) * 1e-3;
});

// makeSales is a year of a shop with seasons, for pictures.
export const makeSales = () => {
  let seed = 7;
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const regions = ['North', 'South', 'East', 'West'], products = ['Lamp', 'Chair', 'Desk', 'Shelf'], rows = [];
  for (let day = 0; day < 365; day++) {
    const season = 1 + 0.55 * Math.sin((day - 80) / 365 * 2 * Math.PI) + (day > 320 ? 0.7 : 0);
    for (let i = 0; i < 2 + 4 * random(); i++) {
      const units = 1 + Math.floor(random() * 6 * season);
      rows.push({
        date: new Date(Date.UTC(2025, 0, 1) + day * 86_400_000).toISOString().slice(0, 10),
        region: regions[Math.floor(random() ** 1.4 * 4)],
        product: products[Math.floor(random() * 4)],
        revenue: Math.round(units * (18 + 60 * random()) * 100) / 100,
      });
    }
  }
  return rows;
};

export const notes = '# Notes on the move\n\n## Why\n\nThe workshop is too small since spring, and the lease ends in October.\n\n## Options\n\nTwo halls are free. The one at the river is larger and needs a new roof. The one in town is ready.\n\n## Next\n\nAsk for a second quote for the roof, then decide before June.\n';
