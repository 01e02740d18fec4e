import * as fc from 'fast-check'
import { checkOptionNames } from '../../event/check-value.ts'
import { throwIfFailed } from '../failure.ts'
import { scriptedModel } from '../provider/script.ts'
import { driveCommands, type DriveCase, type DriveLacks, type DriveTool, playCase, TOUCH } from './script.ts'
import { Driver, type DrivenServer } from './driver.ts'

/** Options of `driveServer`. */
export interface DriveOptions {
  /** Starts a server for one case. */
  start(one: DriveCase): Promise<DrivenServer>
  readonly lacks?: DriveLacks
  /** The tool that the model calls, with its text argument. Default: `touch` with a `key`. */
  readonly tool?: Pick<DriveTool, 'name' | 'argument'>
  /** Number of cases. Default: 100. */
  readonly numRuns?: number
  /** Maximum number of commands per case. Default: 30. */
  readonly maxCommands?: number
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
 * Sends random commands to a server with a random model: messages (even during a reply), approvals,
 * rejections, pauses, interrupts, resumes, navigation, edits, forks, condensation, two clients at once,
 * restarts and crashes. At random moments, before restarts and at the end, it waits until all conversations
 * are at rest and checks the laws: acknowledged messages are in the log once and in order; events do not
 * change; search and the live stream return the same events; the log obeys its laws; no agent event follows a
 * pause; no call is executed twice without a second approval; the provider rejects no request; a restart
 * changes nothing.
 * @throws Error with the broken law, its text, and the commands, seed and log of the smallest failing
 *   case.
 * @example
 * // await driveServer({ start: async (one) => startMyServer(one.model, one.tool), numRuns: 20 })
 */
export async function driveServer(options: DriveOptions): Promise<void> {
  checkOptionNames(options, 'start lacks tool numRuns maxCommands seed path timeout shrink endless')
  const { start, numRuns = 100, seed, path, timeout = 10_000, lacks = {}, shrink = true } = options
  const { tool = TOUCH, maxCommands = 30, endless = lacks.interrupt === undefined } = options
  const commands = fc.array(driveCommands(lacks), { maxLength: maxCommands, size: 'max' })
  const script = scriptedModel({
    tools: { [tool.name]: fc.constant({}) },
    endless,
    tooLong: true,
    maxTurns: 12,
  })
  const property = fc.asyncProperty(commands, script, async (all, turns) => {
    const played = playCase(turns, tool)
    const server = await start(played)
    const driver = new Driver(server, played, timeout)
    try {
      await driver.begin()
      for (const command of all) await driver.play(command)
      await driver.look()
    } finally {
      await server.close()
    }
  })
  const result = await fc.check(property, {
    numRuns,
    endOnFailure: !shrink,
    ...(seed !== undefined && { seed }),
    ...(path !== undefined && { path }),
  })
  throwIfFailed(result)
}
