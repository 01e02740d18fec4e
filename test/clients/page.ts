/** The page of what the official clients can do here, of the table that is tried. */

import type { Row } from './table.ts'

const HEAD = `# The official clients

The result of each method of \`@openhands/typescript-client\` 1.39.0, unchanged, against \`colloquy serve\`. Tests call every method twice: from a
program with a key, and from a page of another origin without keys.

- **works**: it returns a correct value; the tests compare it.
- **empty**: it lists something of the product, such as its marketplace. The list is empty here.
- **out**: it is rejected, for the reason in the table.
`

const NOTES = `
Files, git and commands of a workspace belong to sandboxes and require \`"sandbox_workspaces": true\` in \`serve.json\`. The \`cwd\` of a command is the
folder of a sandbox.

Newer clients name the conversation instead: \`/api/conversations/{id}/bash/…\`, \`/file/…\`, \`/git/…\` and \`/vscode/…\`, or \`?cid={id}\` on the paths
without it. Commands then start in the folder of the conversation (\`workspace.working_dir\`), and each conversation has its own history of
commands, which lives as long as the process. \`GET /server_info\` lists \`conversation_runtime_routes_v1\` in its \`capabilities\` where these paths exist.

\`POST /api/conversations/{id}/archive\` and \`/unarchive\` set \`archived\` in the information of a conversation. \`archived=true\` or \`false\` filters
the search and the count.

A WebSocket of this client puts its key in the URL, which logs and proxies record: with keys it is closed with 4001 and a reason. Listen without
keys on this machine, over server-sent events, or with a client that sends the key in the first frame, as the Python SDK and the web page do.
`

const cellsOf = ({ client, method, as, why, where }: Row): readonly string[] => [
  `\`${client}.${method}\``,
  as,
  why ?? (where === 'both' ? '' : where),
]

/** As the formatter of the project has it. */
function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths = [0, 1, 2].map((index) => Math.max(3, ...rows.map((cells) => cells[index]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, index) => (cells[index] ?? '').padEnd(width)).join(' | ')} |`
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
