/** User actions as fast-check commands that drive a server to its final checks. */

import * as fc from 'fast-check'
import { throwIfFailed } from '../failure.ts'
import { scriptedModel } from '../provider/script.ts'
import {
  ALL_DEEDS,
  type Deed,
  type Deeds,
  deeds,
  describeDeed,
  type DriveCase,
  type DriveTool,
  playCase,
  type PlayedCase,
  TOUCH,
} from './script.ts'
import { Driver, type DrivenServer, type DriveModel, newModel } from './driver.ts'

/** A command for a server, for `fc.asyncModelRun`. */
export type ServerCommand = fc.AsyncCommand<DriveModel, Driver>

/** Options of `serverCommands`. */
export interface ServerCommandsOptions {
  readonly lacks?: Readonly<Partial<Record<Deed['do'], string>>>
  /** Maximum number of commands. Default: 30. */
  readonly maxCommands?: number
}

class DeedCommand implements ServerCommand {
  readonly #deeds: Deeds

  constructor(input: Deeds) {
    this.#deeds = input
  }

  check(): boolean {
    return true
  }

  run(model: DriveModel, driver: Driver): Promise<void> {
    return driver.play(model, this.#deeds)
  }

  toString(): string {
    return this.#deeds.map(describeDeed).join(' & ')
  }
}

/**
 * Generates commands for `fc.asyncModelRun`: messages (even during a reply), approvals, rejections, pauses,
 * interrupts, resumes, navigation, edits, forks, condensation, two clients at once, restarts and crashes. Any
 * list can be sent to any server.
 * @example
 * const [commands] = fc.sample(serverCommands({ lacks: { crash: 'it cannot be killed' } }), 1)
 * [...commands].every((command) => !String(command).includes('crash')) // true
 * const server = { url: 'http://127.0.0.1:3000', close: async () => undefined }
 * const [model, real] = [newModel(), new Driver(server, playCase([{ says: ['Hi'] }]), 10_000)]
 * // await real.begin(model)
 * // await fc.asyncModelRun(() => ({ model, real }), commands)
 */
export function serverCommands({ lacks = {}, maxCommands = 30 }: ServerCommandsOptions = {}): fc.Arbitrary<
  Iterable<ServerCommand>
> {
  const kinds = new Set(ALL_DEEDS.filter((name) => lacks[name] === undefined))
  return fc.commands([deeds(kinds).map((input) => new DeedCommand(input))], { maxCommands, size: 'max' })
}

/** Options of `driveServer`. */
export interface DriveOptions extends ServerCommandsOptions {
  /** Starts a server for one case. */
  start(one: DriveCase): Promise<DrivenServer>
  /** The tool that the model calls, with its text argument. Default: `touch` with a `key`. */
  readonly tool?: Pick<DriveTool, 'name' | 'argument'>
  /** Number of cases. Default: 100. */
  readonly numRuns?: number
  readonly seed?: number
  readonly path?: string
  /** Maximum milliseconds until a conversation is at rest. Default: 10,000. */
  readonly timeout?: number
  /** Whether to look for a smaller failing case. Default: true. */
  readonly shrink?: boolean
  /** Whether replies may last until an interrupt. Default: true, unless the server lacks `interrupt`. */
  readonly endless?: boolean
}

/**
 * Sends random commands to a server with a random model. At random moments, before restarts and at the end,
 * it waits until all conversations are at rest and checks the laws: acknowledged messages are in the log once
 * and in order; events do not change; search and the live stream return the same events; the log obeys its
 * laws; no agent event follows a pause; no call is executed twice without a second approval; the provider
 * rejects no request; a restart changes nothing.
 * @throws Error with the broken law, its text, and the commands, seed and log of the smallest failing
 *   case.
 * @example
 * // await driveServer({ start: async (one) => startMyServer(one.model, one.tool), numRuns: 20 })
 */
export async function driveServer(options: DriveOptions): Promise<void> {
  const { start, numRuns = 100, seed, path, timeout = 10_000, lacks = {}, shrink = true } = options
  const endless = options.endless ?? lacks.interrupt === undefined
  const tool = options.tool ?? TOUCH
  const script = scriptedModel({
    tools: { [tool.name]: fc.constant({}) },
    endless,
    tooLong: true,
    maxTurns: 12,
  })
  const property = fc.asyncProperty(serverCommands(options), script, (commands, turns) =>
    driveOne(start, commands, playCase(turns, tool), timeout),
  )
  const result = await fc.check(property, {
    numRuns,
    endOnFailure: !shrink,
    ...(seed !== undefined && { seed }),
    ...(path !== undefined && { path }),
  })
  throwIfFailed(result)
}

async function driveOne(
  start: DriveOptions['start'],
  commands: Iterable<ServerCommand>,
  played: PlayedCase,
  timeout: number,
): Promise<void> {
  const server = await start(played)
  const model = newModel()
  const driver = new Driver(server, played, timeout)
  try {
    await driver.begin(model)
    await fc.asyncModelRun(() => ({ model, real: driver }), commands)
    await driver.look(model)
  } finally {
    await server.close()
  }
}
