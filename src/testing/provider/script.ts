import * as fc from 'fast-check'
import { checkOptionNames } from '../../event/check-value.ts'
import { shape, weighed } from '../shape.ts'
import { words } from '../text.ts'
import type { ModelFailure, ModelPart, ModelReply, ModelTurn } from '../../messages/model.ts'

/** Options of `scriptedModel`. */
export interface ScriptOptions {
  /**
   * Known tools, with the arguments of each. The model also calls unknown tools, and sends invalid arguments.
   * Default: none.
   */
  readonly tools?: Readonly<Record<string, fc.Arbitrary<object>>>
  /** Whether a response may stay silent, or never end, until the client disconnects. Default: false. */
  readonly endless?: boolean
  /**
   * Whether the model may report that a request is too long. The tested program then needs a condenser.
   * Default: false.
   */
  readonly tooLong?: boolean
  /** Maximum number of turns. Default: 8. */
  readonly maxTurns?: number
}

const badArguments = fc.constantFrom('{"a":', '', '[1]', 'null', '{}x')

function modelCall(tools: Readonly<Record<string, fc.Arbitrary<object>>>): fc.Arbitrary<ModelPart> {
  const known = Object.entries(tools).map(([name, args]) =>
    shape({ call: fc.constant(name), args: weighed<object | string>([5, args], [1, badArguments]) }),
  )
  const unknown = shape({ call: fc.constantFrom('no_such_tool', 'Terminal'), args: fc.constant({}) })
  return known.length === 0 ? unknown : weighed([8, fc.oneof(...known)], [1, unknown])
}

const modelReply = ({ tools = {}, endless = false }: ScriptOptions): fc.Arbitrary<ModelReply> =>
  shape<Required<Pick<ModelReply, 'says'>>, Omit<ModelReply, 'says'>>(
    {
      says: fc.array(
        weighed<ModelPart>(
          [5, words],
          [1, fc.constantFrom('', ' ', '\n')],
          [3, shape({ think: words })],
          [5, modelCall(tools)],
          [1, shape({ search: words })],
        ),
        { maxLength: 5 },
      ),
    },
    { pieces: fc.integer({ min: 5, max: 300 }), slow: fc.nat(2) },
  ).chain((plain) =>
    weighed<ModelReply>(
      [12, fc.constant(plain)],
      [3, fc.constantFrom(...ENDS).map((end) => ({ ...plain, end }))],
      [2, fc.nat(1_500).map((cut) => ({ ...plain, cut }))],
      ...(endless ? [[1, fc.constant({ ...plain, endless: true })] as const] : []),
    ),
  )

const ENDS = ['truncated', 'paused', 'refused', 'filtered', 'failed'] as const

/**
 * Generates scripts with parallel calls, invalid JSON arguments, unknown tools, thinking between texts, every
 * kind of ending, streams cut at any byte, and failing requests. Shrinks to fewer and simpler turns.
 * @example
 * const script = scriptedModel({ tools: { add: fc.record({ a: fc.integer(), b: fc.integer() }) } })
 * const [turns] = fc.sample(script, 1)
 * typeof playTurns(turns) // 'function'
 */
export function scriptedModel(options: ScriptOptions = {}): fc.Arbitrary<readonly ModelTurn[]> {
  checkOptionNames(options, 'tools endless tooLong maxTurns')
  const { endless = false, tooLong = false, maxTurns = 8 } = options
  const failing = fc.constantFrom<ModelFailure['fails']>(
    'rate_limited',
    'server_error',
    'disconnected',
    ...(endless ? (['silent'] as const) : []),
    ...(tooLong ? (['too_long'] as const) : []),
  )
  const failure = failing.map((fails): ModelFailure => ({ fails, retryAfter: 0 }))
  return fc.array(weighed<ModelTurn>([9, modelReply(options)], [1, failure]), {
    maxLength: maxTurns,
    size: 'max',
  })
}
