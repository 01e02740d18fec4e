/** Holds the tables of docs/kinds.md to what the writers do: a failure says what has to stand there. */

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import type { OpenPart } from '../src/event/shapes.ts'
import { LIMITS as AI_SDK } from '../src/messages/ai-sdk/limits.ts'
import { LIMITS as ANTHROPIC } from '../src/messages/anthropic/limits.ts'
import { LIMITS as GOOGLE } from '../src/messages/google/limits.ts'
import { readImage } from '../src/messages/images.ts'
import type { Kind, Kinds } from '../src/messages/kinds.ts'
import { LIMITS as CHAT } from '../src/messages/openai-chat/limits.ts'
import { LIMITS as RESPONSES } from '../src/messages/openai-responses/limits.ts'
import { formOf } from '../src/messages/part-forms.ts'
import type { Limits } from '../src/messages/turns.ts'
import { SAMPLES, type Sample } from './messages/user-parts.ts'

const ROOT = resolve(import.meta.dirname, '..')
const PAGE = readFileSync(join(ROOT, 'docs/kinds.md'), 'utf8')
const FOLDERS = join(ROOT, 'src/messages')

const GRAMMARS: readonly Limits[] = [ANTHROPIC, RESPONSES, CHAT, AI_SDK, GOOGLE]

/** The cells of the tables in the page, the heads and rules left out. */
const tables = PAGE.split(/^## /m)
  .map((section) =>
    section
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .slice(2)
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim())
          .join(' | '),
      ),
  )
  .filter((rows) => rows.length > 0)

/** What a grammar makes of a part, in the words of the page. */
function madeOf(part: OpenPart, limits: Limits, { grammar, place }: Sample): string {
  const form = formOf(part, limits.parts)
  switch (form.as) {
    case 'text':
      return 'text'
    case 'name':
      return 'its name'
    case 'image': {
      const image = readImage(form.url)
      return image !== null && limits.takesImage(image) ? 'an image' : 'its name'
    }
    case 'block': {
      if (!(form.user || (place === 'result' && form.result))) return 'its name'
      const { cache_control: _, ...plain } = part
      const same = grammar === limits.grammar && JSON.stringify(form.block) === JSON.stringify(plain)
      return same ? 'as it is' : `\`${String(form.block['type'] ?? Object.keys(form.block)[0])}\``
    }
  }
}

it('says what each grammar makes of what users and tools say', () => {
  const kinds = Map.groupBy(SAMPLES, ({ grammar, kind }) => `${grammar} | \`${kind}\``)
  const rows = [...kinds].map(([name, samples]) => {
    const cells = GRAMMARS.map((limits) =>
      [...new Set(samples.map((sample) => madeOf(sample.make('abcdabcd'), limits, sample)))].join(', '),
    )
    return [name, ...cells].join(' | ')
  })
  expect(tables[0]).toEqual(rows)
})

const list = (fields: readonly string[]): string => fields.map((field) => `\`${field}\``).join(', ')

function cellsOf({ in: how, isSilent, says = [], signed, more = {} }: Kind): string[] {
  const named = says.length === 0 ? 'its name' : `its name, with ${list(says)}`
  const others =
    isSilent === true || how === 'about'
      ? 'nothing'
      : how === 'standard' || how === 'call'
        ? 'the same'
        : named
  const own = {
    standard: 'in fields of its own',
    call: 'as a call',
    part: 'as it came',
    words: named,
    about: 'in `reply.metadata`',
  }[how]
  const added = how === 'standard' && Object.keys(more).length > 0 ? `, with ${list(Object.keys(more))}` : ''
  return [own + added, others, signed === undefined ? '' : `by \`${signed}\``]
}

it('says what becomes of what models say', async () => {
  const folders = readdirSync(FOLDERS).filter((name) => readdirSafe(join(FOLDERS, name)).includes('kinds.ts'))
  const found = await Promise.all(
    folders.map(async (name) => {
      const { KINDS } = (await import(join(FOLDERS, name, 'kinds.ts'))) as { readonly KINDS: Kinds }
      return Object.entries(KINDS)
        .filter(([, { side }]) => side !== 'user')
        .map(([kind, of]) => [name, `\`${kind}\``, ...cellsOf(of)].join(' | '))
    }),
  )
  expect(tables[1]).toEqual(found.flat())
})

function readdirSafe(path: string): readonly string[] {
  return path.endsWith('.ts') ? [] : readdirSync(path)
}
