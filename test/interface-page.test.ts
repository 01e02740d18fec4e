/**
 * Compares docs/interface.md with the code: kinds and their fields, actions, endpoints, and what it lists
 * as missing.
 */

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventJsonSchema } from '../src/event/event-schema.ts'
import { EVENT_KINDS, type EventKind, KINDS } from '../src/event/kinds.ts'
import { actionSchemas } from '../src/event/published/payload-schema.ts'
import { STATUSES } from '../src/state/status.ts'
import { memoryStore } from '../src/store/memory/store.ts'
import { clientOver } from './service/client.ts'

const PAGE = readFileSync(join(resolve(import.meta.dirname, '..'), 'docs/interface.md'), 'utf8')

/** The text below a heading, up to the next one. */
function section(number: string): string {
  const start = PAGE.search(new RegExp(String.raw`^##+ ${number.replace('.', String.raw`\.`)}\b`, 'm'))
  const rest = PAGE.slice(PAGE.indexOf('\n', start))
  return rest.slice(0, rest.search(/^##+ /m))
}

/** The page's description of each kind, in order. */
const descriptions = section('2.2')
  .split(/^- \*\*/m)
  .slice(1)
  .map((text) => ({ kind: text.slice(0, text.indexOf('*')) as EventKind, text }))

/** Fields of a description at their first mention: `name`, `name?` or `name? = default`. */
const fieldsOf = (text: string): Map<string, string> =>
  new Map(
    [...text.matchAll(/`(\w+)(\??(?: = [^`]+)?)`/g)]
      .map(([, name = '', mark = '']) => [name, mark] as const)
      .toReversed(),
  )

interface Schema {
  readonly properties: Readonly<Record<string, { readonly default?: unknown }>>
  readonly required?: readonly string[]
}

const BASE: ReadonlySet<string> = new Set(['id', 'timestamp', 'source', 'parent_id', 'kind'])

/** The operations that a text names, without parameter names. */
const operationsIn = (text: string): string[] =>
  [...text.matchAll(/`((?:GET|POST|PATCH|PUT|DELETE) \/[^`]*)`/g)].map(([, path = '']) =>
    withoutParameterNames(path),
  )

const withoutParameterNames = (path: string): string => path.replaceAll(/\{\w+\}/g, '{}')

describe('docs/interface.md', () => {
  it('lists every kind with its default source, in the order of `EVENT_KINDS`', () => {
    expect(descriptions.map(({ kind }) => kind)).toEqual(EVENT_KINDS)
    for (const { kind, text } of descriptions)
      expect(/\((?:_source required_|\w+)/.exec(text)?.[0]).toBe(
        `(${KINDS[kind].defaultSource ?? '_source required_'}`,
      )
  })

  it.for(descriptions)('lists the fields of $kind with their defaults', ({ kind, text }) => {
    const { properties, required = [] } = eventJsonSchema(kind) as unknown as Schema
    const mentioned = fieldsOf(text)
    for (const [name, { default: input }] of Object.entries(properties)) {
      if (BASE.has(name)) continue
      const hasDefault = input !== undefined && input !== null && !Array.isArray(input)
      const mark = required.includes(name) ? '' : hasDefault ? `? = ${JSON.stringify(input)}` : '?'
      expect([name, mentioned.get(name)]).toEqual([name, mark])
    }
    const others = [...mentioned].filter(([name, mark]) => mark !== '' && !Object.hasOwn(properties, name))
    expect(others).toEqual([])
  })

  it('lists the published actions and the statuses', () => {
    const actions = [...section('2.4').matchAll(/`(\w+Action)`/g)].map(([, kind]) => kind)
    expect(actions.toSorted()).toEqual(Object.keys(actionSchemas).toSorted())
    const statuses = [...(section('3').split('.')[0] ?? '').matchAll(/`(\w+)`/g)].map(([, status]) => status)
    expect(statuses).toEqual(STATUSES)
  })

  it('lists only served endpoints, and no served endpoint as missing', async () => {
    const { document } = await clientOver(memoryStore(), { keys: ['k'] })
    const served = new Set(
      Object.entries(document.raw.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${withoutParameterNames(path)}`),
      ),
    )
    const listed = ['4.1', '4.2', '4.3'].flatMap((number) => operationsIn(section(number)))
    expect(listed.length).toBeGreaterThan(12)
    expect(listed.filter((path) => !served.has(path))).toEqual([])
    const missing = operationsIn(section('10'))
    expect(missing.length).toBeGreaterThan(0)
    expect(missing.filter((path) => served.has(path))).toEqual([])
  })
})
