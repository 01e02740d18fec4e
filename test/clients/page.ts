/** The page of what the official clients can do here, of the table that is tried. */

import type { Row } from './table.ts'

const HEAD = `# The official clients

What each method of \`@openhands/typescript-client\` 1.39.0 comes to against \`colloquy serve\`, as it is published and unchanged. The table is made of
the calls that the tests make, once as a program with a key, and once as a page of another origin without keys.

- **works**: it gives a value that is right; the tests look at the value.
- **empty**: it asks for a list of the product, such as its marketplace. There is nothing in it here.
- **out**: it is refused, and the table says why.
`

const NOTES = `
Files, git and commands of a workspace are those of sandboxes, and are given out only where \`serve.json\` has \`"sandbox_workspaces": true\`. A command
names the folder of a sandbox as its \`cwd\`.

A WebSocket of this client puts its key into the URL, where every log and proxy reads it: with keys it is closed with 4001, and the reason says so.
Listen without keys on this machine, over server-sent events, or with a client that sends the key in the first frame, as the Python SDK and the web page do.
`

const cellsOf = ({ client, method, as, why, where }: Row): readonly string[] => [
  `\`${client}.${method}\``,
  as,
  why ?? (where === 'both' ? '' : where),
]

/** As the formatter of the project has it. */
function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths = [0, 1, 2].map((at) => Math.max(3, ...rows.map((cells) => cells[at]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, at) => (cells[at] ?? '').padEnd(width)).join(' | ')} |`
  const [head = [], ...rest] = rows
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rest.map(line)]
}

export function pageOf(rows: readonly Row[]): string {
  const count = (as: Row['as']): number => rows.filter((row) => row.as === as).length
  return [
    HEAD,
    `Of ${rows.length} methods that ask a server, ${count('works')} work, ${count('empty')} are empty and ${count('out')} are out.`,
    NOTES,
    ...tableOf([['Method', '', ''], ...rows.map(cellsOf)]),
    '',
  ].join('\n')
}
