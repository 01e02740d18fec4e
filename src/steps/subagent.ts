import type { ChildReply, ChildRequest, Step } from '../conversation/run/step.ts'
import { checkFunction, checkOptionNames } from '../event/check-value.ts'
import type { JsonObject } from '../event/shapes.ts'
import { hasText } from '../event/text.ts'
import { checkArguments } from './tool.ts'
import type { JsonSchema, StandardSchema, StepTool, ToolContext, ToolOutput } from './tool.ts'

/** Options of `subagent`. */
export interface SubagentOptions extends Pick<ChildRequest, 'maxDepth' | 'maxChildren' | 'run'> {
  readonly name: string
  readonly description: string
  /** The step of the child conversation. */
  readonly step: Step
  /** Schema of the arguments. Default: an object with a string `task`. */
  readonly parameters?: StandardSchema | JsonSchema
  /**
   * Returns the child's first message. Default: the argument `task` or, without it, all arguments as JSON. If
   * the message is blank, the call fails.
   */
  readonly prompt?: (args: JsonObject) => string
  /** Whether the parent agent continues while the child works. Default: false. */
  readonly background?: boolean
}

const TASK: JsonObject = {
  type: 'object',
  properties: { task: { type: 'string', description: 'The task, with all required information.' } },
  required: ['task'],
}

/**
 * Returns a tool whose calls run an agent. Each call sends the task to a child conversation and returns the
 * child's reply. The child's id depends only on the parent and the call, so after a crash the call continues
 * the same child. Interrupting the call interrupts the child, and deleting the parent deletes the child.
 * `conversation.children()` lists the child conversations.
 * @throws ColloquyError `invalid_argument`.
 * @example
 * const research = subagent({
 *   name: 'research',
 *   description: 'Looks things up.',
 *   step: async function* () {
 *     yield { kind: 'MessageEvent', source: 'agent', llm_message: { role: 'assistant', content: [{ text: 'Found.' }] } }
 *   },
 * })
 * research.repeatable // true
 */
export function subagent(options: SubagentOptions): StepTool {
  checkOptionNames(options, 'name description step parameters prompt background maxDepth maxChildren run')
  const {
    name,
    description,
    step,
    parameters = TASK,
    prompt = (args) => {
      if (typeof args['task'] === 'string') return args['task']
      return parameters === TASK && Object.keys(args).length === 0 ? '' : JSON.stringify(args)
    },
    background,
    ...childOptions
  } = options
  checkFunction('step', step ?? null)
  checkFunction('prompt', prompt)
  const callChild = (text: string, { runChild, signal, report }: ToolContext): Promise<ChildReply> => {
    if (runChild === undefined) throw new TypeError('A subagent runs only in a step of a conversation.')
    if (!hasText(text)) throw new TypeError('The subagent has no task. Describe the task in `task`.')
    return runChild({
      ...childOptions,
      text,
      step,
      title: name,
      signal,
      // Records the child's id: unlike a SubagentObservation, the completion of a background call lacks it.
      onOpen: (subagent) => void report?.({ task: { subagent } }).catch(() => undefined),
    })
  }
  return {
    name,
    description,
    parameters,
    repeatable: true,
    ...(background === true && { background }),
    execute: async (args, context) => subagentOutput(await callChild(prompt(args), context)),
    async resume(_, context) {
      // Must be the same prompt as in `execute`, because the child may already have it.
      const checked = await checkArguments({ parameters }, context.call)
      if ('issues' in checked) return new Error(checked.issues)
      return subagentOutput(await callChild(prompt(checked.args), context))
    },
  }
}

const subagentOutput = ({ conversationId, status, content }: ChildReply): ToolOutput => ({
  kind: 'SubagentObservation',
  content,
  conversation_id: conversationId,
  ...(status !== 'finished' && { is_error: true }),
})
