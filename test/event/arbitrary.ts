/** Random events of every kind, and random nonsense, for the properties of this folder. */

import fc from 'fast-check'
import { SAMPLES } from './samples.ts'

type Fields = Readonly<Record<string, unknown>>

/** Any JSON, with keys and strings that bite. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    biting(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(biting(), tie('value'), { maxKeys: 4 }).map(own),
  ),
})).value

function biting(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom('__proto__', 'constructor', 'toJSON', 'kind', 'encrypted_content', '', '0', '\ud800', 'a\u0000b'),
    fc.string({ unit: 'binary', maxLength: 8 }),
  )
}

/** The dictionary as JSON.parse would make it, `__proto__` and all. */
function own(entries: Fields): unknown {
  return JSON.parse(JSON.stringify(entries)) as unknown
}

/** A legal event: between the smallest and the fullest of its kind, some of its open fields filled with any JSON. */
export const anyEvent: fc.Arbitrary<Fields> = fc
  .constantFrom(...SAMPLES)
  .chain(({ kind, minimal, full }) => {
    const optional = Object.keys(full).filter((key) => !Object.hasOwn(minimal, key))
    return fc
      .record({
        keys: fc.subarray(optional),
        richer: fc.boolean(),
        id: fc.constantFrom('a', '日本', 'x'.repeat(200), '😀'.repeat(200)),
        text: fc.string({ unit: 'binary' }),
        parent: fc.option(fc.string({ unit: 'binary' })),
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

/** Objects that look like events of some dialect: known fields with any value in them. */
export const almostEvent: fc.Arbitrary<Fields> = fc
  .record({
    sample: fc.constantFrom(...SAMPLES),
    odd: fc.dictionary(
      fc.constantFrom(
        'id',
        'timestamp',
        'parent_id',
        'source',
        'key',
        'value',
        'action',
        'observation',
        'tool_call',
        'tool_name',
        'tools',
        'llm_message',
        'llm_response_id',
        'activated_microagents',
        'activated_skills',
        'agent_status',
        'iteration',
        'classification',
        'thinking_blocks',
        'extended_content',
        'system_prompt',
        'forgotten_event_ids',
      ),
      fc.oneof(
        anyJson,
        fc.dictionary(
          fc.constantFrom(
            'kind',
            'content',
            'output',
            'error',
            'message',
            'stdout',
            'stderr',
            'is_error',
            'function',
            'tool_calls',
            'text',
            'enable_truncation',
          ),
          fc.oneof(
            fc.constantFrom('ExecuteBashObservation', 'FinishObservation', 'StrReplaceEditorAction', 'OwnAction'),
            fc.constantFrom({ name: 'terminal', arguments: '{}' }, [{ text: 'a', enable_truncation: true }]),
            anyJson,
          ),
          { maxKeys: 6 },
        ),
        fc.constantFrom('terminal', 'file_editor', 'fetch', [
          { type: 'function', function: { name: 'fetch', parameters: {} } },
        ]),
      ),
      { maxKeys: 6 },
    ),
    rich: fc.boolean(),
  })
  .map(({ sample, odd, rich }) => own({ ...(rich ? sample.full : sample.minimal), ...odd }) as Fields)

/** Anything JavaScript can hold, proxies and getters that throw among it. */
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
