/** How the reference is made: a page for each entry of the package, under the name by which it is imported. */

import { readFileSync } from 'node:fs'
import { Converter } from 'typedoc'

const { exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** The entries: their modules in src/ by their names, as in `colloquy/engine`. */
const entries = Object.entries(exports).flatMap(([name, entry]) =>
  typeof entry === 'string'
    ? []
    : [[name.replace('.', 'colloquy'), entry.types.replace('./dist/', '').replace(/\.d\.ts$/, '')]],
)

/** A module is named by its file; readers know it by its entry. */
function nameEntries(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children ?? []) {
      const found = entries.find(([, path]) => path === module.name || path === `${module.name}/index`)
      if (found !== undefined) module.name = found[0]
    }
  })
}

/** @type {import('typedoc').TypeDocOptions} */
const options = {
  plugin: ['typedoc-plugin-markdown', nameEntries],
  name: 'The API',
  entryPoints: entries.map(([, path]) => `../../src/${path}.ts`),
  tsconfig: './tsconfig.api.json',
  out: '.work/api',
  router: 'module',
  readme: 'none',
  excludeInternal: true,
  disableSources: true,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  entryFileName: 'index',
  useCodeBlocks: true,
  sanitizeComments: true,
  skipErrorChecking: true,
}
export { options as default }
