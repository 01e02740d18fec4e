/** The known word that a mistyped one probably meant. */

/** How many letters may be wrong, left out or too many: more in longer words, and never most of them. */
const allowed = (word: string): number => Math.min(2, Math.floor(word.length / 3))

/** The nearest of the known words, the first of several; null when none is near. O(words × letters²). */
export function nearest(word: string, known: readonly string[]): string | null {
  let found: string | null = null
  let least = allowed(word) + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= least) continue
    const steps = distance(word, candidate)
    if (steps < least) [found, least] = [candidate, steps]
  }
  return found
}

/** How many letters to change, add, leave out or swap with their neighbour lie between two words. */
function distance(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, column) => column)]
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Infinity
  for (let row = 1; row <= from.length; row += 1) {
    rows.push([row])
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1]
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      rows[row]?.push(
        Math.min(
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          at(row - 1, column - 1) + (same ? 0 : 1),
          swapped ? at(row - 2, column - 2) + 1 : Infinity,
        ),
      )
    }
  }
  return at(from.length, to.length)
}
