/** The agent that clients are tried on: it says again what was said, and calls a tool when it is told to. */

import type { Step } from '../../src/conversation/run/step.ts'
import { scriptedAgent } from '../../src/service/scripted-agent.ts'

const talk = scriptedAgent()()
const call = scriptedAgent(
  Array.from({ length: 50 }, () => ({ calls: [{ tool: 'echo', arguments: { said: 'it' } }] })),
)()

/** "call" is answered with a call, once for each time that it is said. */
export const step: Step = (input) => {
  const { state } = input
  const text = state.branch.lastUserMessage
  const wants = JSON.stringify(text?.event ?? null).includes('"text":"call"')
  const done = state.log.entries
    .slice((text?.seq ?? -1) + 1)
    .some(({ event }) => event?.kind === 'ActionEvent')
  return wants && !done ? call(input) : talk(input)
}
