// Writes documents with libraries of npm into the folder that is given:
//   npm install xlsx docx && node make.mjs made
import { createRequire } from 'node:module';
import { writeFileSync } from 'node:fs';

const require = createRequire(`${process.cwd()}/`);
const XLSX = require('xlsx');
const out = process.argv[2];

const rows = [
  ['Name', 'Betrag', 'Datum', 'Fertig'],
  ['Müller', 1234.5, new Date(Date.UTC(2026, 2, 9)), true],
  ['Zoë', -0.25, new Date(Date.UTC(1999, 11, 31)), false],
  ['Ganz', 42, null, true],
];
const sheet = XLSX.utils.aoa_to_sheet(rows);
sheet.E2 = { t: 'n', f: 'B2*2', v: 2469 };
sheet.E3 = { t: 's', f: 'A2&"x"', v: 'Müllerx' };
sheet.E4 = { t: 'n', f: 'SUM(B2:B4)' };
sheet['!ref'] = 'A1:E4';
const book = XLSX.utils.book_new();
XLSX.utils.book_append_sheet(book, sheet, 'Daten');
XLSX.utils.book_append_sheet(book, XLSX.utils.aoa_to_sheet([['zwei'], [2]]), 'Zwei');
const kinds = { biff2: 'xls', biff3: 'xls', biff4: 'xls', biff5: 'xls', biff8: 'xls', xlml: 'xls', html: 'xls', txt: 'xls',
  csv: 'xls', sylk: 'slk', fods: 'fods', xlsx: 'xlsx' };
for (const [kind, ext] of Object.entries(kinds)) {
  XLSX.writeFile(book, `${out}/sheetjs-${kind}.${ext}`, { bookType: kind, codepage: 1252, compression: true });
}
const { AlignmentType, Document, FootnoteReferenceRun, Math: Formula, MathFraction, MathRadical, MathRun, MathSubScript,
  MathSum, MathSuperScript, Packer, Paragraph, Table, TableCell, TableRow, TextRun } = require('docx');
const level = (n, format, text) => ({ level: n, format, text, alignment: AlignmentType.START });
const item = (text, n, list = 'law') => new Paragraph({ text, numbering: { reference: list, level: n } });
const doc = new Document({
  numbering: { config: [
    { reference: 'law', levels: [level(0, 'upperRoman', 'Article %1'), level(1, 'decimal', '%1.%2'),
      level(2, 'lowerLetter', '(%3)')] },
    { reference: 'zh', levels: [level(0, 'chineseCounting', '第%1条'), level(1, 'chineseCounting', '(%2)')] },
    { reference: 'dots', levels: [level(0, 'bullet', '•')] },
  ] },
  footnotes: { 1: { children: [new Paragraph('Where it is small.')] } },
  sections: [{ children: [
    item('Scope', 0), item('Where it holds', 1), item('When it holds', 1), item('by day', 2), item('by night', 2),
    item('Money', 0), item('Fees', 1),
    ...Array.from({ length: 12 }, (_, i) => item(`条文${i + 1}`, 0, 'zh')), item('款', 1, 'zh'), item('dot', 0, 'dots'),
    new Paragraph({ children: [new TextRun('Noted'), new FootnoteReferenceRun(1)] }),
    new Paragraph({ children: [new Formula({ children: [
      new MathFraction({ numerator: [new MathRun('NUMER')], denominator: [new MathRun('DENOM')] }), new MathRun('='),
      new MathSuperScript({ children: [new MathRun('c')], superScript: [new MathRun('2')] }),
      new MathSubScript({ children: [new MathRun('x')], subScript: [new MathRun('i')] }),
      new MathRadical({ children: [new MathRun('y')], degree: [new MathRun('3')] }),
      new MathSum({ children: [new MathRun('n')], subScript: [new MathRun('1')], superScript: [new MathRun('9')] }),
    ] })] }),
    new Table({ rows: [new TableRow({ children: [new TableCell({ children: [item('in a cell', 0)] }),
      new TableCell({ children: [new Paragraph('beside')] })] })] }),
  ] }],
});
writeFileSync(`${out}/docx-npm.docx`, await Packer.toBuffer(doc));
