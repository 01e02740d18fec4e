/**
 * Makes a static site of the pages and of the reference of every entry, which is made from the comments in the code: `npm run
 * docs:site` writes it into docs/site/dist, with a search, and fails where a link leads nowhere; `npm run docs:api` makes the reference
 * alone, in docs/site/.work/api.
 */

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const HERE = import.meta.dirname
const ROOT = resolve(HERE, '../..')
/** What the site is made of: the pages with links that hold in it, and the reference. */
const WORK = join(HERE, '.work')

function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, [...args], { cwd: HERE, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

function install(): void {
  const asked = readFileSync(join(HERE, 'package-lock.json'), 'utf8')
  const mark = join(HERE, 'node_modules', '.installed-lock')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === asked) return
  run('npm', ['ci', '--ignore-scripts'])
  writeFileSync(mark, asked)
}

/** The reference, a page for each entry of the package, by a compiler that has an interface for tools. */
function makeReference(): void {
  rmSync(join(WORK, 'api'), { recursive: true, force: true })
  run(process.execPath, [
    join(HERE, 'node_modules/typedoc/bin/typedoc'),
    '--options',
    join(HERE, 'typedoc.js'),
  ])
}

/** The pages, with what they link to outside of docs/: the laws stand beside them, and the README is the front page. */
function copyPages(): void {
  mkdirSync(join(WORK, 'public'), { recursive: true })
  const docs = join(ROOT, 'docs')
  const files = readdirSync(docs, { withFileTypes: true }).filter((entry) => entry.isFile())
  for (const { name } of files) {
    if (name === 'llms.txt') {
      const list = readFileSync(join(docs, name), 'utf8').replaceAll('../properties/', '')
      writeFileSync(join(WORK, 'public', name), list.replaceAll('.md)', '.html)'))
    } else if (!name.endsWith('.md')) cpSync(join(docs, name), join(WORK, name))
    else
      writeFileSync(
        join(WORK, name === 'README.md' ? 'index.md' : name),
        readFileSync(join(docs, name), 'utf8')
          .replaceAll('../properties/laws.md', 'laws.md')
          // A picture is a file beside its page, and no package.
          .replaceAll(/ (src|srcset)="(?=[\w-]+\.webp")/g, ' $1="./'),
      )
  }
  const laws = readFileSync(join(ROOT, 'properties/laws.md'), 'utf8')
  writeFileSync(join(WORK, 'laws.md'), laws.replaceAll('](../docs/', ']('))
}

install()
makeReference()
if (process.argv[2] !== '--api') {
  copyPages()
  run(process.execPath, [join(HERE, 'node_modules/vitepress/bin/vitepress.js'), 'build', HERE])
}
