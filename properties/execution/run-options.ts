/** Run options of a story, delayed by the scheduler. */

import { rollingCondenser } from '../../src/context/condenser/rolling.ts'
import type { RunCondenser } from '../../src/conversation/run/options.ts'
import type { Hook } from '../../src/conversation/run/hooks.ts'
import type { RunOptions } from '../../src/conversation/run/options.ts'
import { FORBIDDEN } from './step-simulator.ts'
import type { Cues, Machine } from './machine.ts'
import type { Plan } from './plan.ts'
import type { Story } from './story.ts'

/** Milliseconds. */
export const TTL = 1_000_000

export const isCautious = (tool: string): boolean => tool === 'risky'

export function optionsOfRuns(cues: Cues, story: Story, plan: Plan): (machine: Machine) => RunOptions {
  const { cautious, hooks, maxIterations, builtIn } = plan
  // Shared by all runs.
  const denials = { remaining: hooks?.denials ?? 0 }
  return (machine) => ({
    leaseTtl: TTL,
    maxIterations,
    ...(cautious && { policy: (_call, reply) => reply.some(({ tool_name }) => isCautious(tool_name)) }),
    ...(hooks !== null && { hooks: hooksOf(machine, cues, story, hooks, denials) }),
    ...(builtIn && { condenser: condenserOf(machine, cues) }),
  })
}

const condenserOf = (machine: Machine, cues: Cues): RunCondenser =>
  rollingCondenser({
    maxEvents: 12,
    keepFirst: 1,
    retries: 0,
    summarise: async () => {
      cues.give('asking')
      await machine.point('summary')
      return { text: 'what was said before', llmResponseId: 'condenser' }
    },
  })

function hooksOf(
  machine: Machine,
  cues: Cues,
  story: Story,
  { blocksPrompts, blocksRisky }: NonNullable<Plan['hooks']>,
  denials: { remaining: number },
): Hook[] {
  const slow = async (name: string): Promise<void> => machine.point(`hook ${name}`)
  return [
    {
      on: 'UserPromptSubmit',
      name: 'prompt',
      run: async ({ message, message_id = '' }) => {
        await slow('prompt')
        story.shown.add(message_id)
        const blocked = blocksPrompts && message === FORBIDDEN
        if (blocked) story.blockedPrompts.add(message_id)
        return { blocked, additionalContext: 'be brief' }
      },
    },
    {
      on: 'PreToolUse',
      name: 'before',
      run: async ({ tool_name, action_id = '' }) => {
        cues.give('guarding')
        await slow('before')
        const blocked = blocksRisky && tool_name === 'risky'
        if (blocked) story.blockedCalls.add(action_id)
        return { blocked }
      },
    },
    {
      on: 'Stop',
      name: 'stop',
      run: async () => {
        await slow('stop')
        denials.remaining -= 1
        return { blocked: denials.remaining >= 0, reason: 'go on' }
      },
    },
    {
      on: 'SessionEnd',
      name: 'end',
      run: async () => {
        cues.give('ending')
        for (let n = 0; n < 5; n += 1) await slow('end')
      },
    },
  ]
}
