/** Arbitrary queries and live appends that are likely to collide: equal ids, moves, leases and unusual timestamps. */

import fc from 'fast-check'
import { EVENT_KINDS } from '../../src/event/kinds.ts'
import type { Event } from '../../src/event/types.ts'
import type { AppendOptions, Store } from '../../src/store/contract/store.ts'

/** Mostly undefined: with many filters, most pages would be empty. */
const sometimes = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

export const withoutUndefined = <T extends object>(input: object): T =>
  Object.fromEntries(Object.entries(input).filter(([, one]) => one !== undefined)) as T

const hourAt = (index: number): string => new Date(index * 3_600_000).toISOString()
const hour = sometimes(fc.integer({ min: -1, max: 41 }).map(hourAt))

const ODD_TIMES = [
  '9999-12-31T23:59:59.999999Z',
  '0001-01-01T00:00:00Z',
  '2300-01-01T00:00:00.000001Z',
  '1970-01-01T03:00:00',
  'soon',
]

/** Times that collide, and unusual forms of timestamps. */
export const timestamp = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 40 }).map(hourAt) },
  fc.constantFrom(...ODD_TIMES),
)

/** A query whose leaf is the number of an event. */
export const query = fc.record({
  kinds: sometimes(
    fc.oneof(
      fc.subarray([...EVENT_KINDS], { minLength: 9 }),
      fc.constantFrom(...EVENT_KINDS).map((kind) => [kind]),
    ),
  ),
  excludeKinds: sometimes(fc.subarray([...EVENT_KINDS], { maxLength: 5 })),
  source: sometimes(fc.constantFrom('agent' as const, 'user' as const, 'environment' as const)),
  text: sometimes(fc.constantFrom('', 'e', 'a', '\u{1f600}')),
  timestampGte: hour,
  timestampLt: hour,
  leaf: fc.option(fc.nat(), { nil: undefined }),
  order: fc.constantFrom('timestamp' as const, 'timestamp_desc' as const),
  limit: fc.integer({ min: 1, max: 4 }),
})

export const queries = fc.array(query, { minLength: 4, maxLength: 4 })

/** An append, a lease claim or release, or a time zone change. */
export type Step =
  | { readonly append: readonly Event[]; readonly options: AppendOptions }
  | { readonly lease: 'me' | 'you'; readonly isRelease: boolean }
  | { readonly timeZone: string | null }

/** Few ids, so that they collide. */
const someId = fc.nat(40).map((n) => `e${n}`)

/** Refers to an earlier event by `@` and a number; sometimes to one of the batch, or to nothing. */
const anyTarget = fc.oneof(
  { weight: 12, arbitrary: fc.nat(99).map((n) => `@${n}`) },
  { weight: 2, arbitrary: someId },
  fc.constantFrom('nowhere', '__root__', 'x\u0000', ''),
)

/** Replaces references with the ids of existing events. */
export function resolveTargets(one: Step, known: readonly string[]): Step {
  if (!('append' in one)) return one
  const nameOf = (target: unknown): unknown =>
    typeof target === 'string' && target.startsWith('@')
      ? (known[Number(target.slice(1)) % known.length] ?? 'e1')
      : target
  const append = one.append.map((event) => ({
    ...event,
    ...('parent_id' in event && { parent_id: nameOf(event.parent_id) as string }),
    ...('value' in event && { value: nameOf(event.value) as string }),
  }))
  return { ...one, append }
}

const common = {
  id: someId,
  timestamp: fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: timestamp },
    { weight: 1, arbitrary: fc.constant('1970-01-01T03:00:00') },
  ),
  parent_id: fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(null, '__root__') },
    { weight: 3, arbitrary: anyTarget },
  ),
}

const liveEvent: fc.Arbitrary<Event> = fc
  .oneof(
    { weight: 4, arbitrary: fc.record({ ...common, kind: fc.constant('PauseEvent') }) },
    {
      weight: 2,
      arbitrary: fc.record({
        ...common,
        kind: fc.constant('MessageEvent'),
        source: fc.constantFrom('user', 'agent'),
        llm_message: fc.record({
          role: fc.constant('user'),
          content: fc.constant([{ text: 'aE \u{1f600}' }]),
        }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        ...common,
        kind: fc.constant('ConversationStateUpdateEvent'),
        key: fc.constantFrom('leaf_event_id', 'leaf_event_id', 'stats'),
        value: fc.oneof({ weight: 4, arbitrary: anyTarget }, fc.constantFrom(null, 7)),
      }),
    },
  )
  .map((event) => withoutUndefined<Event>(event))

const options: fc.Arbitrary<AppendOptions> = fc
  .record({
    expected: fc.oneof(
      { weight: 9, arbitrary: fc.constant(undefined) },
      fc.constant('none' as const),
      fc.nat(25),
    ),
    mode: fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, fc.constant('import' as const)),
    lease: fc.oneof(
      { weight: 12, arbitrary: fc.constant(undefined) },
      fc.record({ owner: fc.constantFrom('me', 'you'), generation: fc.integer({ min: 1, max: 3 }) }),
    ),
  })
  .map((options) => withoutUndefined<AppendOptions>(options))

export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      append: fc.oneof(
        fc.array(liveEvent, { minLength: 1, maxLength: 1 }),
        fc.array(liveEvent, { minLength: 2, maxLength: 5 }),
      ),
      options,
    }),
  },
  { weight: 1, arbitrary: fc.record({ lease: fc.constantFrom('me', 'you'), isRelease: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ timeZone: fc.constantFrom('Europe/Berlin', 'America/Lima', null) }) },
)

/** Performs a step and returns the store's result. */
export async function performStep(store: Store, id: string, one: Step): Promise<unknown> {
  if ('append' in one) return store.append(id, one.append, one.options)
  if ('timeZone' in one) return store.updateConversation(id, one)
  if (!one.isRelease) return store.acquireLease(id, one.lease, 1000)
  const lease = await store.getLease(id)
  return lease === null ? null : store.releaseLease(lease)
}
