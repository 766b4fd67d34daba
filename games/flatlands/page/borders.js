// The dashed lines of the grid overlay around this page's player: how far out each lies, and its
// word, colour and dashes. Those who cannot tell the colours apart have the dashes and the words.

/** From the outermost to the innermost. `margin` is a field of State.margins, or null for the screen
 * itself; `word` is written on the line, and `means` explains it; `dash` is in css px.
 * @type {{ margin: 'drop' | 'lead' | null, word: string, means: string, colour: string,
 *   dash: number[] }[]} */
export const BORDERS = [
  { margin: 'drop', word: 'drop margin', means: 'you drop squares outside it', colour: '#ff7d9c',
    dash: [20, 6, 4, 6] },
  { margin: 'lead', word: 'lead margin', means: 'you subscribe to squares inside it', colour: '#3ff0c0',
    dash: [4, 5] },
  { margin: null, word: 'your screen', means: '', colour: '#ffffff', dash: [14, 9] },
];
