/**
 * Builds the inspector as one HTML file, with a compressed script, because a page on disk has no server to
 * compress it.
 */

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { rolldown } from 'rolldown'

const PAGE = resolve(import.meta.dirname, '../inspector/page')

const START = `(async () => {
  const text = document.getElementById('program').textContent
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  const script = document.createElement('script')
  script.src = URL.createObjectURL(new Blob([await new Response(stream).text()], { type: 'text/javascript' }))
  document.body.append(script)
})().catch((error) => { document.getElementById('page').textContent = 'The inspector does not start here: ' + error.message })`

const NOTICE =
  '<!-- With Preact (c) Jason Miller, Immer (c) Michel Weststrate, zod (c) Colin McDonnell; MIT License, as Colloquy itself. -->'

/** The page without data, as text. */
export async function buildInspector(): Promise<string> {
  const bundle = await rolldown({
    input: join(PAGE, 'main.tsx'),
    platform: 'browser',
    resolve: { conditionNames: ['browser', 'import', 'default'] },
    transform: {
      jsx: { runtime: 'automatic', importSource: 'preact' },
      define: { 'process.env.NODE_ENV': '"production"' },
    },
    logLevel: 'silent',
  })
  const { output } = await bundle.generate({ format: 'iife', minify: true })
  await bundle.close()
  const [{ code }] = output
  const style = minified(readFileSync(join(PAGE, 'style.css'), 'utf8'))
  const program = deflateRawSync(code, { level: 9 }).toString('base64')
  return readFileSync(join(PAGE, 'template.html'), 'utf8')
    .replace('/*policy*/', () => policyOf(style))
    .replace(/<style>[^]*?<\/style>/, () => `<style>${style}</style>`)
    .replace('<noscript>', () => `${NOTICE}\n    <noscript>`)
    .replace(
      /<script>[^]*?<\/script>/,
      () => `<script type="text/plain" id="program">${program}</script>\n    <script>${START}</script>`,
    )
}

function policyOf(style: string): string {
  return [
    "default-src 'none'",
    `script-src '${digestOf(START)}' 'strict-dynamic'`,
    `style-src '${digestOf(style)}'`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}

const digestOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`

const minified = (css: string): string =>
  css
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,]) ?/g, '$1')
    .trim()

/** Writes the page to a file. */
export async function writeInspector(file: string): Promise<void> {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, await buildInspector())
}
