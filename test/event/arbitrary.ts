/** Arbitrary events of every kind, and arbitrary invalid values, for the properties of this folder. */

import * as fc from 'fast-check'
import { character } from '../../src/testing/text.ts'
import { SAMPLES } from './samples.ts'

type Fields = Readonly<Record<string, unknown>>

/** Any JSON, including hostile keys and strings. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    hostileString(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(hostileString(), tie('value'), { maxKeys: 4 }).map(asParsed),
  ),
})).value

function hostileString(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(
      '__proto__',
      'constructor',
      'toJSON',
      'kind',
      'encrypted_content',
      '',
      '0',
      '\ud800',
      'a\u0000b',
    ),
    fc.string({ unit: character, maxLength: 8 }),
  )
}

/** Returns a copy with `__proto__` as an own key, as JSON.parse creates it. */
function asParsed(entries: Fields): unknown {
  return JSON.parse(JSON.stringify(entries)) as unknown
}

/** A valid event between the minimal and the full sample, with any JSON in some open fields. */
export const anyEvent: fc.Arbitrary<Fields> = fc.constantFrom(...SAMPLES).chain(({ kind, minimal, full }) => {
  const optional = Object.keys(full).filter((key) => !Object.hasOwn(minimal, key))
  return fc
    .record({
      keys: fc.subarray(optional),
      richer: fc.boolean(),
      id: fc.constantFrom('a', '日本', 'x'.repeat(200), '😀'.repeat(200)),
      text: fc.string({ unit: character }),
      parent: fc.option(fc.string({ unit: character })),
      json: anyJson,
    })
    .map(({ keys, richer, id, text, parent, json }) => {
      const event: Record<string, unknown> = { ...minimal }
      for (const key of richer ? Object.keys(full) : keys) event[key] = full[key]
      if (Object.hasOwn(event, 'id')) event['id'] = id
      if (Object.hasOwn(event, 'parent_id')) event['parent_id'] = parent
      if (kind === 'ConversationStateUpdateEvent') event['value'] = json
      if (kind === 'ActionEvent') event['action'] = { kind: 'OwnAction', own: json }
      if (kind === 'ObservationEvent') event['observation'] = { kind: 'OwnObservation', output: json }
      if (kind === 'AgentErrorEvent') event['error'] = text
      return event
    })
})

/** Some of the fields, each with one of its values or occasionally any JSON. */
function some(fields: Readonly<Record<string, readonly unknown[]>>): fc.Arbitrary<Fields> {
  const values = Object.entries(fields).map(([key, choice]) => [key, oneOf(choice)] as const)
  return fc.record(Object.fromEntries(values), { requiredKeys: [] })
}

function oneOf(choice: readonly unknown[]): fc.Arbitrary<unknown> {
  const arbitraries = choice.map((value) => (isArbitrary(value) ? value : fc.constant(value)))
  return fc.oneof(
    { weight: 1, arbitrary: anyJson },
    ...arbitraries.map((arbitrary) => ({ weight: 4, arbitrary })),
  )
}

const isArbitrary = (value: unknown): value is fc.Arbitrary<unknown> => value instanceof fc.Arbitrary

const OPENAI_CALL = { id: 'c1', type: 'function', index: 0, function: { name: 'terminal', arguments: '{}' } }
const OPENAI_TOOL = { type: 'function', function: { name: 'fetch', description: 'd', parameters: {} } }
const LONG_TEXT = { text: 'a', enable_truncation: true }

/** Values of older dialects, by event kind. */
const OLD_VALUES: Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>> = {
  MessageEvent: {
    activated_microagents: [['git'], null],
    activated_skills: [null, ['git']],
    extended_content: [null, [LONG_TEXT]],
    llm_message: [
      some({
        role: ['user', 'assistant'],
        content: ['text', '', null, [LONG_TEXT]],
        tool_calls: [[OPENAI_CALL], null],
        thinking_blocks: [null],
      }),
    ],
  },
  ActionEvent: {
    tool_name: ['terminal', 'file_editor', 'fetch'],
    tool_call: [OPENAI_CALL],
    action: [{ command: 'ls' }, { kind: 'ExecuteBashAction', command: 'ls' }, null],
    thought: [[LONG_TEXT]],
    thinking_blocks: [null],
  },
  ObservationEvent: {
    tool_name: ['terminal', 'finish', 'fetch'],
    extended_content: [null, [LONG_TEXT]],
    observation: [
      some({
        kind: ['ExecuteBashObservation', 'FinishObservation', 'ApplyPatchObservation', 'OwnObservation'],
        content: ['text', null, [LONG_TEXT]],
        output: ['text', ''],
        error: ['text', '', true, null],
        message: ['text'],
        is_error: [null, true],
      }),
      some({ command: ['ls'], stdout: ['text'], stderr: ['text', ''], exit_code: [1] }),
    ],
  },
  SystemPromptEvent: {
    system_prompt: [LONG_TEXT],
    tools: [[OPENAI_TOOL], []],
    dynamic_context: [LONG_TEXT, null],
  },
  ConversationStateUpdateEvent: { key: [null, 'k'], value: [null], agent_status: ['IDLE'], iteration: [1] },
  Condensation: { llm_response_id: [null], forgotten_event_ids: [null] },
  AgentErrorEvent: { classification: [{ kind: 'unknown' }, null] },
  ConversationErrorEvent: { classification: [{ kind: 'unknown' }] },
}

/** Objects that resemble events of one or more dialects, some beyond repair. */
export const almostEvent: fc.Arbitrary<Fields> = fc
  .constantFrom(...SAMPLES, ...SAMPLES.filter(({ kind }) => Object.hasOwn(OLD_VALUES, kind)))
  .chain(({ kind, minimal, full }) =>
    fc
      .tuple(
        fc.constantFrom(minimal, full),
        some({
          id: ['a', null, ''],
          timestamp: [null, 'now'],
          parent_id: [null, 'a'],
          source: [null, 'user'],
        }),
        some(OLD_VALUES[kind] ?? {}),
        fc.constantFrom('', ...Object.keys(minimal)),
      )
      .map(([base, identity, odd, dropped]) => {
        const { [dropped]: _, ...event } = { ...base, ...odd, ...identity }
        return asParsed(event) as Fields
      }),
  )

/** Any JavaScript value, including proxies and throwing getters. */
export const anything: fc.Arbitrary<unknown> = fc.oneof(
  fc.anything({
    withNullPrototype: true,
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withObjectString: true,
    withSparseArray: true,
    withTypedArray: true,
    withBoxedValues: true,
    maxDepth: 4,
  }),
  fc
    .tuple(
      almostEvent,
      fc.constantFrom('get', 'ownKeys', 'getOwnPropertyDescriptor', 'getPrototypeOf', 'has'),
      fc.anything(),
    )
    .map(([target, trap, thrown]) => {
      const handler = {
        [trap]: () => {
          throw thrown
        },
      }
      return { ...target, action: new Proxy({}, handler), id: new Proxy([], handler) }
    }),
  fc.tuple(almostEvent, fc.anything()).map(([target, thrown]) =>
    Object.defineProperty({ ...target }, 'id', {
      enumerable: true,
      get: () => {
        throw thrown
      },
    }),
  ),
)
