/**
 * Writes docs/llms.txt, by which a language model finds the page that it needs: the pages in the order of docs/README.md, each under its
 * own title and with what the index says of it. `npm run docs:llms`; a test fails where the file is not what this gives.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { join, posix, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** The whole file. */
export function llmsText(): string {
  const { description } = JSON.parse(read('package.json')) as { description: string }
  const lines = read('docs/README.md')
    .replaceAll(/\n +/g, ' ') // an entry can continue on the next line
    .split('\n')
    .flatMap((line) => {
      const heading = /^## (.*)/.exec(line)?.[1]
      if (heading !== undefined) return ['', `## ${heading}`, '']
      const [, path = '', says = ''] = /^(?:\d+\.|-) \[.*?\]\((.*?\.md)\): (.*)/.exec(line) ?? []
      if (path === '') return []
      const title = /^# (.*)/m.exec(read(posix.join('docs', path)))?.[1] ?? ''
      return [`- [${title}](${path}): ${says}`]
    })
  return `# Colloquy\n\n> ${description}\n${lines.join('\n')}\n`
}

if (import.meta.main) writeFileSync(join(ROOT, 'docs/llms.txt'), llmsText())
