import type { JsonObject } from '../../event/shapes.ts'
import type { Model, ModelPart, ModelTurn } from '../../messages/model.ts'
import * as fc from 'fast-check'
import { shape, weighed } from '../shape.ts'

export interface DriveTool {
  readonly name: string
  readonly argument: string
  readonly description: string
  readonly parameters: JsonObject
  readonly execute: (args: JsonObject) => string
}

/** One case: the model and the tool of its server. */
export interface DriveCase {
  readonly model: Model
  readonly tool: DriveTool
}

export interface PlayedCase extends DriveCase {
  readonly touched: ReadonlyMap<string, number>
  readonly hangs: () => number
}

export const TOUCH = { name: 'touch', argument: 'key' }

/**
 * Returns a case whose model plays a script with a unique key for each tool call. The case counts executed
 * calls and hanging replies.
 */
export function playCase(
  turns: readonly ModelTurn[],
  { name, argument }: Pick<DriveTool, 'name' | 'argument'>,
): PlayedCase {
  const remaining = [...turns]
  const touched = new Map<string, number>()
  let requestCount = 0
  let hanging = 0
  const keyed = (part: ModelPart, index: number): ModelPart =>
    typeof part === 'string' || !('call' in part) || part.call !== name || typeof part.args === 'string'
      ? part
      : { ...part, args: { [argument]: `key ${requestCount}.${index}` } }
  return {
    touched,
    hangs: () => hanging,
    model() {
      requestCount += 1
      const turn = remaining.shift() ?? { says: ['Done.'] }
      if ('fails' in turn) {
        if (turn.fails === 'silent') hanging += 1
        return turn
      }
      if (turn.endless === true) hanging += 1
      return { ...turn, says: turn.says.map(keyed) }
    },
    tool: {
      name,
      argument,
      description: 'Leaves a text behind.',
      parameters: { type: 'object', properties: { [argument]: { type: 'string' } }, required: [argument] },
      execute({ [argument]: key }) {
        if (typeof key !== 'string') throw new TypeError(`The ${argument} must be a text.`)
        touched.set(key, (touched.get(key) ?? 0) + 1)
        return `left ${key}`
      },
    },
  }
}

const WEIGHTS = {
  turn: 10,
  send: 3,
  run: 3,
  look: 4,
  pause: 3,
  interrupt: 3,
  resume: 3,
  approve: 4,
  reject: 2,
  policy: 2,
  back: 2,
  edit: 2,
  fork: 2,
  condense: 1,
  restart: 1,
  crash: 2,
}

/** One random command that `driveServer` sends. */
export interface DriveCommand {
  readonly do: keyof typeof WEIGHTS
  /** Index of the conversation, 0 for the latest. */
  readonly on: number
  readonly n: number
  readonly turns: number
}

/** Commands that a server lacks, each with the reason. */
export type DriveLacks = Readonly<Partial<Record<DriveCommand['do'], string>>>

export type DriveCommands = readonly [DriveCommand] | readonly [DriveCommand, DriveCommand]

const command = (kinds: readonly (readonly [number, DriveCommand['do']])[]): fc.Arbitrary<DriveCommand> =>
  shape<DriveCommand>({
    do: weighed<DriveCommand['do']>(...kinds.map(([weight, name]) => [weight, fc.constant(name)] as const)),
    on: fc.constantFrom(0, 0, 0, 1, 2),
    n: fc.nat(3),
    turns: fc.constantFrom(0, 0, 1, 3, 10, 30),
  })

export function driveCommands(lacks: DriveLacks): fc.Arbitrary<DriveCommands> {
  const weights = Object.entries(WEIGHTS)
    .map(([name, weight]) => [weight, name as DriveCommand['do']] as const)
    .filter(([, name]) => lacks[name] === undefined)
  const one = command(weights)
  const two = command(weights.filter(([, name]) => name !== 'look' && name !== 'restart' && name !== 'crash'))
  return weighed<DriveCommands>([6, fc.tuple(one)], [1, fc.tuple(two, two)])
}

export const describeCommand = ({ do: name, on, n, turns }: DriveCommand): string =>
  `${name}(${[on > 0 ? `on: ${on}` : '', n > 0 ? `n: ${n}` : '', turns > 0 ? `turns: ${turns}` : ''].filter((text) => text !== '').join(', ')})`
