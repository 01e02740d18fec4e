/** The page of what the official clients can do here, of the table that is tried. */

import type { Row } from './table.ts'

const HEAD = `# The official clients

This page lists what each method of the unchanged \`@openhands/typescript-client\` 1.39.0 returns from \`colloquy serve\`. Tests call every method twice: from a
program with a key, and from a page of another origin without keys.

- **works**: it returns a correct value; the tests compare it.
- **empty**: it lists a feature that Colloquy lacks, such as a marketplace. The list is empty.
- **out**: it is rejected, for the reason in the table.
`

const NOTES = `
Files, git and commands of a workspace belong to sandboxes and require \`"sandbox_workspaces": true\` in \`serve.json\`. The \`cwd\` of a command is the
folder of a sandbox.

Newer clients name the conversation instead: in the path (\`/api/conversations/{id}/bash/…\`, \`/file/…\`, \`/git/…\` and \`/vscode/…\`), or with
\`?cid={id}\` on the older paths. Commands then start in the folder of the conversation (\`workspace.working_dir\`). Each conversation has its own
history of commands until the process ends. \`GET /server_info\` lists \`conversation_runtime_routes_v1\` in its \`capabilities\` where these paths exist.

\`POST /api/conversations/{id}/archive\` and \`/unarchive\` set \`archived\` in the information of a conversation. \`archived=true\` or \`false\` filters
the search and the count.

This client's WebSocket puts the key in the URL, which logs and proxies record. A service with keys closes it with 4001 and a reason. Use a local
service without keys, server-sent events, or a client that sends the key in the first frame, such as the Python SDK and the web page.
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
    `Of ${rows.length} methods that call a server, ${count('works')} work, ${count('empty')} are empty and ${count('out')} are out.`,
    NOTES,
    ...tableOf([['Method', '', ''], ...rows.map(cellsOf)]),
    '',
  ].join('\n')
}
