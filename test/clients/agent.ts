/** The agent of the client tests: repeats the user's message, or calls a tool if the message is `call`. */

import type { Step } from '../../src/conversation/run/step.ts'
import { scriptedAgent } from '../service/scripted-agent.ts'

const echo = scriptedAgent()()
const call = scriptedAgent(
  Array.from({ length: 50 }, () => ({ calls: [{ tool: 'echo', arguments: { said: 'it' } }] })),
)()

/** Makes one call for each message `call`. */
export const step: Step = (input) => {
  const { state } = input
  const text = state.branch.lastUserMessage
  const wantsCall = JSON.stringify(text?.event ?? null).includes('"text":"call"')
  const hasCalled = state.log.entries
    .slice((text?.seq ?? -1) + 1)
    .some(({ event }) => event?.kind === 'ActionEvent')
  return wantsCall && !hasCalled ? call(input) : echo(input)
}
