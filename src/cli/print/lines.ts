/** The library counts positions in a log, from 0; people look for lines of a file. */

/** Where the library names an event by its position. */
const PLACE = /(the event|already stands|comes later in the log,) at position (\d{1,15})/g

/**
 * A sentence of the library with the line of each event that it names by its position. What it quotes stays as it is,
 * whatever stands there. O(length).
 */
export function inLines(text: string, lines: readonly number[]): string {
  let isQuoted = false
  const pieces = text.split('"').map((piece) => {
    const shown = isQuoted ? piece : withLines(piece, lines)
    if (!isQuoted || !endsEscaped(piece)) isQuoted = !isQuoted
    return shown
  })
  return pieces.join('"')
}

const withLines = (text: string, lines: readonly number[]): string =>
  text.replaceAll(PLACE, (all, who: string, seq: string) => {
    const line = lines[Number(seq)]
    return line === undefined ? all : `${who} on line ${line}`
  })

/** Whether a mark behind it belongs to the quoted text. */
function endsEscaped(piece: string): boolean {
  let from = piece.length
  while (piece[from - 1] === '\\') from -= 1
  return (piece.length - from) % 2 === 1
}
