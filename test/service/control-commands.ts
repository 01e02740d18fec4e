import fc from 'fast-check'

export const IDS = ['0f8fad5b-d9cb-469f-a165-70867728950e', '1f8fad5b-d9cb-469f-a165-70867728950e', 'plain']

export type Command = { readonly slot: number } & (
  | { readonly do: 'start'; readonly index: number; readonly says: boolean; readonly child: boolean }
  | { readonly do: 'start in'; readonly index: number; readonly sandbox: number }
  | { readonly do: 'pend' | 'delete' | 'patch'; readonly index: number; readonly byTask: boolean }
  | { readonly do: 'send'; readonly index: number }
  | { readonly do: 'listen'; readonly index: number }
  /** Listens until the reader has an event, the start has failed, or ten seconds have passed. */
  | { readonly do: 'read'; readonly index: number }
  | { readonly do: 'pause' | 'resume' | 'end'; readonly sandbox: number }
  | { readonly do: 'crash'; readonly calls: number }
  | { readonly do: 'hold'; readonly calls: number; readonly milliseconds: number }
  | { readonly do: 'wait'; readonly milliseconds: number }
)

const slot = fc.nat({ max: 3 })
const index = fc.nat({ max: IDS.length })
const sandbox = fc.nat({ max: 3 })
export const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('start' as const),
      slot,
      index,
      says: fc.boolean(),
      child: fc.nat(3).map((n) => n === 0),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('start in' as const), slot, index, sandbox }) },
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constant('pend' as const), slot, index, byTask: fc.boolean() }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('delete' as const, 'delete' as const, 'patch' as const),
      slot,
      index,
      byTask: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('pause' as const, 'resume' as const, 'resume' as const, 'end' as const),
      slot,
      sandbox,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constantFrom('send' as const, 'listen' as const), slot, index }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('crash' as const), slot, calls: fc.nat({ max: 40 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('hold' as const),
      slot,
      calls: fc.nat({ max: 20 }),
      milliseconds: fc.integer({ min: 20, max: 90 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), slot, milliseconds: fc.nat({ max: 30 }) }),
  },
)

/**
 * Faults that must occur: a service that dies while accepting a message, failed and rejected starts, a
 * deleted conversation, a reader that continues at another service.
 */
export const SCRIPTS: readonly (readonly Command[])[] = [1, 2, 3, 4].map((calls) => [
  { do: 'start', slot: 0, index: 0, says: true, child: false },
  { do: 'start', slot: 1, index: 1, says: true, child: false },
  { do: 'start in', slot: 1, index: 2, sandbox: 0 },
  { do: 'read', slot: 0, index: 0 },
  { do: 'send', slot: 1, index: 0 },
  { do: 'wait', slot: 0, milliseconds: 30 },
  { do: 'delete', slot: 1, index: 1, byTask: false },
  { do: 'crash', slot: 0, calls },
  { do: 'pend', slot: 0, index: 0, byTask: false },
  { do: 'pend', slot: 1, index: 0, byTask: false },
  { do: 'listen', slot: 1, index: 0 },
  { do: 'send', slot: 0, index: 0 },
  { do: 'start', slot: 1, index: 0, says: true, child: false },
])
