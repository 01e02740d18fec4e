/** The site: its pages in the order of docs/README.md, and the reference behind them. */

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../../..')
const WORK = join(import.meta.dirname, '../.work')

/** The sections of the index, with their pages. */
const pages = readFileSync(join(ROOT, 'docs/README.md'), 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((section) => ({
    text: section.split('\n', 1)[0],
    collapsed: false,
    items: [...section.matchAll(/^(?:\d+\.|-) \[(.*?)\]\((.*?)\.md\)/gm)].map(([, text, path]) => ({
      text,
      link: `/${path.split('/').at(-1)}`,
    })),
  }))

const reference = readdirSync(join(WORK, 'api'), { recursive: true })
  .filter((name) => name.endsWith('.md') && name !== 'index.md')
  .map((name) => name.slice(0, -'.md'.length))
  .toSorted()
  // Behind a name that another page has but for its case stands a number.
  .map((name) => ({ text: name.replace(/-1$/, ''), link: `/api/${name}` }))

const config = {
  title: 'Colloquy',
  description: 'The conversation core of an agent server.',
  srcDir: '.work',
  outDir: 'dist',
  cleanUrls: false,
  // Nothing is asked of another host, also by a reader's browser.
  head: [['meta', { name: 'referrer', content: 'no-referrer' }]],
  // What a page says in braces is no template.
  markdown: { config: (md) => md.use(literalBraces) },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Getting started', link: '/getting-started' },
      { text: 'API', link: '/api/' },
    ],
    sidebar: [
      ...pages,
      { text: 'API', collapsed: true, items: [{ text: 'All entries', link: '/api/' }, ...reference] },
    ],
  },
}
export { config as default }

/** Marks inline code as what is no template, since pages quote objects. */
function literalBraces(md) {
  const { code_inline: inline } = md.renderer.rules
  md.renderer.rules.code_inline = (...args) => inline(...args).replace(/^<code/, '<code v-pre')
}
