/** Writes the section of docs/interface.md about the official client from the tested table. */

import type { MethodRow } from './method-row.ts'

const HEAD = `Tests call every method of the unchanged \`@openhands/typescript-client\` 1.39.0 against \`colloquy serve\` twice: from a
program with a key, and from a page of another origin against a service without keys. The tests check each result.`

const namesOf = (rows: readonly MethodRow[]): string =>
  rows.map(({ client, method }) => `\`${client}.${method}\``).join(', ')

/** Aligns columns as the formatter does. */
function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths = [0, 1].map((index) => Math.max(3, ...rows.map((cells) => cells[index]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, index) => (cells[index] ?? '').padEnd(width)).join(' | ')} |`
  const [head = [], ...rest] = rows
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rest.map(line)]
}

/** Describes the result of a method; null if it works in both cases. */
const resultOf = ({ status, reason, condition }: MethodRow): string | null => {
  if (status === 'rejected') return `Rejected. ${reason}`
  if (status === 'empty') return 'Returns nothing: Colloquy does not have this feature.'
  return condition === 'both' ? null : `Works only ${condition}.`
}

export function sectionOf(rows: readonly MethodRow[]): string {
  const count = (status: MethodRow['status']): number => rows.filter((row) => row.status === status).length
  const groups = Map.groupBy(rows, resultOf)
  const cells = [...groups].flatMap(([result, group]) => (result === null ? [] : [[result, namesOf(group)]]))
  return [
    HEAD,
    '',
    `Of ${rows.length} methods that call a server, ${count('works')} work, ${count('empty')} return nothing and ${count('rejected')} are rejected. The table lists the methods that do not`,
    'work, and the methods that work only with keys or only without keys:',
    '',
    ...tableOf([['Result', 'Methods'], ...cells]),
  ].join('\n')
}
