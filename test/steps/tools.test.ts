/** Tools: every value that they return or throw, and every failed call, becomes a result for the model. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Event } from '../../src/event/types.ts'
import {
  anthropicStep,
  background,
  bedrockStep,
  googleStep,
  type StepTool,
  tool,
  type ToolOutput,
} from '../../src/steps/index.ts'
import { describeTool } from '../../src/steps/tool.ts'
import { begin, branch } from '../conversation/agent.ts'
import { scripted, STEP_WIRES } from './wires.ts'

const toolOf = (execute: StepTool['execute'], more: Partial<StepTool> = {}): StepTool => ({
  name: 'do',
  description: 'Does it.',
  parameters: { type: 'object' },
  execute,
  ...more,
})

/** The result of a tool's first call with these arguments. */
async function resultOf(input: StepTool | null, args = '{}', name = 'do'): Promise<Event | undefined> {
  const conversation = await begin()
  const { step } = scripted(STEP_WIRES.chat, [{ calls: [{ id: 'c', name, args }] }], {
    tools: input === null ? [] : [input],
  })
  expect((await conversation.run(step)).status).toBe('finished')
  return (await branch(conversation)).find(
    ({ kind }) => kind === 'ObservationEvent' || kind === 'AgentErrorEvent',
  )
}

const observationOf = async (input: () => ToolOutput): Promise<unknown> => {
  const result = await resultOf(toolOf(async () => input()))
  return result?.kind === 'ObservationEvent' ? result.observation : result
}

const throwing = (): never => {
  throw new TypeError('No such file: a.txt')
}

async function* counts() {
  yield 'one'
  yield* ['two', 'three']
}

async function* fails() {
  yield 'one'
  throw new Error('No more.')
}

function requiredOf(parameters: object): unknown[] {
  const { required = [] } = describeTool(toolOf(() => '', { parameters } as never)).parameters
  return (required as unknown[]).toSorted()
}

describe('the result of a tool', () => {
  it.each<readonly [unknown, unknown]>([
    ['text', [{ type: 'text', text: 'text' }]],
    ['', []],
    [undefined, []],
    [{ a: [1] }, [{ type: 'text', text: '{"a":[1]}' }]],
    [7, [{ type: 'text', text: '7' }]],
    [[{ type: 'text', text: 'a' }, { image_urls: ['data:image/png;base64,AA'] }], undefined],
    [[1, 2], [{ type: 'text', text: '[1,2]' }]],
    [[], [{ type: 'text', text: '[]' }]],
    [[{ text: 'Rose', score: 1 }], [{ type: 'text', text: '[{"text":"Rose","score":1}]' }]],
    [[{ type: 'invoice', total: 5 }], [{ type: 'text', text: '[{"type":"invoice","total":5}]' }]],
    [[{ text: 5 }], [{ type: 'text', text: '[{"text":5}]' }]],
    [[{ image_urls: [5] }], [{ type: 'text', text: '[{"image_urls":[5]}]' }]],
    [{ kind: 'list', content: ['a'] }, [{ type: 'text', text: '{"kind":"list","content":["a"]}' }]],
    [
      [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }],
      undefined,
    ],
    [[{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }], undefined],
    // A part that only another provider accepts.
    [
      [{ type: 'tool_reference', tool_name: 'weather' }],
      [{ type: 'text', text: '[{"type":"tool_reference","tool_name":"weather"}]' }],
    ],
    [[{ type: 'image', image_urls: ['https://a.b/c.png'], detail: 'high' }], undefined],
    [{ kind: 'file', path: 'a' }, [{ type: 'text', text: '{"kind":"file","path":"a"}' }]],
  ])('contains the returned value %j', async (output, content) => {
    expect(await observationOf(() => output as ToolOutput)).toEqual({
      kind: 'ToolObservation',
      content: content ?? output,
    })
  })

  it('is correct if the tool modifies its arguments', async () => {
    const sort = toolOf(({ list, more }) => {
      Object.assign(more as object, { sorted: true })
      return [...(list as number[]).toSorted(), (list as number[]).pop() ?? 0, more] as never
    })
    expect(await resultOf(sort, '{"list":[3,1],"more":{}}')).toMatchObject({
      observation: { content: [{ text: '[1,3,1,{"sorted":true}]' }] },
    })
  })

  it('is the last value of a generator, also for a background call', async () => {
    const last = { kind: 'ToolObservation', content: [{ type: 'text', text: 'three' }] }
    expect(await observationOf(counts)).toEqual(last)
    expect(await observationOf(async function* () {})).toEqual({ kind: 'ToolObservation', content: [] })
    expect(await observationOf(fails)).toMatchObject({ is_error: true, content: [{ text: 'No more.' }] })
    const backgroundTools = [
      toolOf(counts, { background: true }),
      toolOf(() => background(Promise.resolve(counts()))),
    ]
    for (const backgroundTool of backgroundTools) {
      const conversation = await begin()
      const script = [
        { calls: [{ id: 'c', name: 'do', args: '{}' }] },
        { text: 'Started.' },
        { text: 'Read.' },
      ]
      const { step } = scripted(STEP_WIRES.chat, script, { tools: [backgroundTool] })
      await conversation.run(step, { until: 'settled' })
      expect(JSON.stringify(await conversation.messages())).toContain('three')
    }
  })

  it('is the returned observation', async () => {
    const observation = { kind: 'FileObservation', content: [{ text: 'no' }], is_error: true, path: 'a' }
    expect(await observationOf(() => observation)).toEqual(observation)
  })

  it('exists for any value that the tool returns or throws, and the run finishes', async () => {
    const output = fc.oneof(
      fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true }),
      fc.constant(Symbol('s')),
    )
    await fc.assert(
      fc.asyncProperty(output, fc.boolean(), async (value, throws) => {
        const result = await resultOf(
          toolOf(async () => {
            if (throws) throw value
            return value as ToolOutput
          }),
        )
        expect(result?.kind).toBe('ObservationEvent')
        if (throws) expect(result).toMatchObject({ observation: { is_error: true } })
      }),
      { numRuns: 100 },
    )
  })

  it('is an error with the message that the tool throws', async () => {
    expect(await observationOf(throwing)).toEqual({
      kind: 'ToolObservation',
      content: [{ type: 'text', text: 'No such file: a.txt' }],
      is_error: true,
    })
  })
})

describe('tool arguments', () => {
  const schema = z.object({
    n: z.coerce.number(),
    name: z.string().default('x'),
    kind: z.string().optional(),
  })
  const input: unknown[] = []
  const checked = tool({
    name: 'do',
    description: '',
    parameters: schema,
    execute: (args) => void input.push(args),
  })

  it('are the output of the schema, including a field named `kind`', async () => {
    input.length = 0
    await resultOf(checked, '{"n":"4","kind":"dir"}')
    expect(input).toEqual([{ n: 4, name: 'x', kind: 'dir' }])
  })

  it('are reported field by field if they are invalid, and the tool does not run', async () => {
    input.length = 0
    const result = await resultOf(checked, '{"n":"four","name":5}')
    expect(input).toEqual([])
    expect(result).toMatchObject({ kind: 'AgentErrorEvent' })
    const { error } = result as { readonly error: string }
    expect(error).toMatch(
      /^The call was not executed: its arguments do not fit the schema\. n: .*\. name: .*\.$/,
    )
  })

  it('are not checked against a JSON Schema', async () => {
    const seen: unknown[] = []
    await resultOf(
      toolOf((args) => void seen.push(args), { parameters: { required: ['a'] } }),
      '{"b":1}',
    )
    expect(seen).toEqual([{ b: 1 }])
  })

  it('are described by the schema without $schema, and must have a JSON Schema', () => {
    expect(describeTool(checked).parameters).toMatchObject({ type: 'object', required: ['n'] })
    expect(describeTool(checked).parameters).not.toHaveProperty('$schema')
    const mute = {
      '~standard': { version: 1 as const, vendor: 'v', validate: (value: unknown) => ({ value }) },
    }
    const client = { messages: { create: async () => ({}) } }
    const options = { client, model: 'm', max_tokens: 1, tools: [toolOf(() => '', { parameters: mute })] }
    expect(() => anthropicStep(options)).toThrow(/implements Standard JSON Schema/)
  })

  const X = { properties: { k: { const: 'x' }, x: { type: 'string' } }, required: ['k', 'x'] }
  const Y = { properties: { k: { const: 'y' }, y: { type: 'number' } }, required: ['k'] }
  const EITHER = {
    type: 'object',
    properties: { k: { anyOf: [X.properties.k, Y.properties.k] }, x: X.properties.x, y: Y.properties.y },
    required: ['k'],
  }

  const SHARED = { $ref: '#/$defs/X', required: ['n'] }

  it.each<readonly [string, object, object]>([
    ['no properties', { type: 'object' }, { type: 'object', properties: {} }],
    ['properties of null', { type: 'object', properties: null }, { type: 'object', properties: {} }],
    ['an empty schema', {}, { type: 'object', properties: {} }],
    ['a dialect', { $schema: 'http://json-schema.org/draft-07/schema#', ...EITHER }, EITHER],
    ['alternatives', { oneOf: [X, Y] }, EITHER],
    ['nested alternatives', { anyOf: [{ oneOf: [X] }, { allOf: [Y] }] }, EITHER],
    ['references', { $defs: { X }, anyOf: [{ $ref: '#/$defs/X' }, Y] }, { $defs: { X }, ...EITHER }],
    ['a reference at the top', { $ref: '#/$defs/X', $defs: { X } }, { $defs: { X }, type: 'object', ...X }],
    [
      'circular references',
      { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#' }] } } },
      { $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#' }] } }, type: 'object', properties: {} },
    ],
    [
      'conditions on required properties',
      { ...EITHER, anyOf: [{ required: ['x'] }, { required: ['y'] }] },
      EITHER,
    ],
    [
      'all of several schemas',
      { allOf: [X, { properties: { z: {} }, required: ['z'] }] },
      { type: 'object', properties: { ...X.properties, z: {} }, required: ['k', 'x', 'z'] },
    ],
    [
      'alternatives that share a reference',
      { $defs: { X }, oneOf: ['one', 'two'].map((n) => ({ ...SHARED, properties: { n: { const: n } } })) },
      {
        $defs: { X },
        type: 'object',
        properties: { ...X.properties, n: { anyOf: [{ const: 'one' }, { const: 'two' }] } },
        required: ['n', 'k', 'x'],
      },
    ],
    [
      'a reference to an escaped key',
      { $ref: '#/$defs/a~1b~0%3Cc%3E', $defs: { 'a/b~<c>': X } },
      { $defs: { 'a/b~<c>': X }, type: 'object', ...X },
    ],
    ['an object or null', { anyOf: [X, { type: 'null' }] }, { type: 'object', properties: X.properties }],
  ])('with %s are described in a form that all providers accept', (_, parameters, described) => {
    expect(describeTool(toolOf(() => '', { parameters } as never)).parameters).toEqual(described)
  })

  it('require the same if their references are replaced by the definitions', () => {
    const name = fc.constantFrom('a', 'b', 'c')
    const plain = fc.record({ required: fc.uniqueArray(name) })
    const count = 5
    /** A definition refers only to those after it. */
    const definition = (index: number): fc.Arbitrary<object> => {
      const next = fc.integer({ min: index + 1, max: count })
      const part = fc.oneof(
        plain,
        next.map((to) => ({ $ref: `#/$defs/${to}` })),
      )
      const parts = fc.array(part, { minLength: 1, maxLength: 3 })
      return fc.oneof(
        plain,
        fc.record({ required: fc.uniqueArray(name), anyOf: parts }),
        fc.record({ allOf: parts, oneOf: parts }),
      )
    }
    const definitions = fc.tuple(...Array.from({ length: count }, (_, index) => definition(index)), plain)
    fc.assert(
      fc.property(definitions, (list) => {
        const $defs = Object.fromEntries(list.map((each, index) => [index, each]))
        const expand = (value: unknown): unknown =>
          JSON.parse(JSON.stringify(value), (_, each: { $ref?: string }) =>
            each?.$ref === undefined ? each : expand(list[Number(each.$ref.slice(8))]),
          )
        expect(requiredOf({ $ref: '#/$defs/0', $defs })).toEqual(requiredOf({ allOf: [expand(list[0])] }))
      }),
    )
  })

  it('are described unchanged if all providers accept the schema', () => {
    const name = fc.constantFrom('a', 'b', '__proto__', 'constructor')
    const inner = fc.constantFrom<object>({ type: 'string' }, { oneOf: [{}] }, { $ref: '#/$defs/a' })
    const schema = fc.record(
      {
        description: fc.string(),
        properties: fc.dictionary(name, inner),
        type: fc.constant('object'),
        required: fc.uniqueArray(name),
        additionalProperties: fc.boolean(),
      },
      { requiredKeys: ['type', 'properties'] },
    )
    fc.assert(
      fc.property(schema, (parameters) => {
        const described = describeTool(toolOf(() => '', { parameters } as never))
        expect(JSON.stringify(described.parameters)).toBe(JSON.stringify(parameters))
      }),
    )
  })
})

describe.each(Object.values(STEP_WIRES))('the tools option of $name', (wire) => {
  it.each<readonly [string, unknown, string]>([
    ['a number', 7, 'must be an array of tools'],
    ['null in the list', [null], 'must be an array of tools'],
    ['text in the list', [toolOf(() => ''), 'x'], 'must be an array of tools'],
    ['a list in the list', [[]], 'must be an array of tools'],
    [
      'no name',
      [toolOf(() => '', { name: undefined } as never)],
      'must contain only tools with a non-empty name',
    ],
    ['an empty name', [toolOf(() => '', { name: '' })], 'must contain only tools with a non-empty name'],
    [
      'a repeated name',
      [toolOf(() => ''), toolOf(() => '')],
      'must not contain two tools with the name "do"',
    ],
  ])('rejects %s', (_, tools, rule) => {
    const create = () => scripted(wire, [], { tools: tools as never })
    // The AI SDK's tools are an object too.
    if (wire === STEP_WIRES.aiSdk && tools === 7) return
    expect(create).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message: `\`tools\` ${rule}.` }),
    )
  })

  it('may be undefined or null', () => {
    for (const tools of [undefined, null])
      expect(() => scripted(wire, [], { tools: tools as never })).not.toThrow()
  })
})

describe.each(Object.values(STEP_WIRES))('a step of $name', (wire) => {
  it('rejects a tool without `execute`', () => {
    const tools = [{ name: 'do', description: 'Does it.', parameters: { type: 'object' } }]
    expect(() => scripted(wire, [], { tools: tools as never })).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message:
          'The tool do needs an `execute` function. To have a user approve its calls, pass a policy to the run.',
      }),
    )
  })

  it('rejects a schema that the library cannot convert, and names the tool', () => {
    const tools = [toolOf(() => '', { parameters: z.object({ day: z.date() }) })]
    expect(() => scripted(wire, [], { tools })).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message:
          'The schema of the tool do cannot be converted to JSON Schema. Change it: Date cannot be represented in JSON Schema',
      }),
    )
  })

  it('rejects a system prompt that is not a string', () => {
    const system = [{ type: 'text', text: 'Be brief.' }]
    expect(() => scripted(wire, [], { system: system as never })).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message: '`system` must be a string.' }),
    )
  })
})

it('`tool` accepts JSON Schema in the type of any library', () => {
  interface JSONSchema7 {
    readonly type?: 'object'
    readonly properties?: Readonly<Record<string, { readonly type: 'string' }>>
  }
  const schema: JSONSchema7 = { type: 'object', properties: { city: { type: 'string' } } }
  const base = { name: 'weather', description: 'Returns the weather.' }
  const tools = [
    tool({ ...base, parameters: schema, execute: ({ city }) => `Sun in ${String(city)}.` }),
    tool({ ...base, parameters: { type: 'object', properties: {} }, execute: (args) => Object.keys(args) }),
    // The type of `city` follows from the schema.
    tool({ ...base, parameters: z.object({ city: z.string() }), execute: ({ city }) => city.trim() }),
  ]
  expect(tools.map(describeTool).map(({ parameters }) => parameters['type'])).toEqual(
    Array.from({ length: 3 }, () => 'object'),
  )
})

it.each([
  ['config.tools', (tools: unknown) => googleStep({ client: {} as never, model: 'm', config: { tools } })],
  [
    'toolConfig.tools',
    (tools: unknown) => bedrockStep({ client: {} as never, model: 'm', toolConfig: { tools } }),
  ],
])('%s must be an array of objects', (field, create) => {
  for (const tools of [7, 'x', {}, [null], [undefined], ['x']])
    expect(() => create(tools)).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message: `\`${field}\` must be an array of tools.`,
      }),
    )
  for (const tools of [undefined, null, [], [{}]]) expect(() => create(tools)).not.toThrow()
})

it("a provider's own tools are sent unchanged, and executed if they have an execute function", async () => {
  const conversation = await begin()
  const bash = { type: 'bash_20250124', name: 'bash' }
  const search = { type: 'web_search_20250305', name: 'web_search' }
  const calls = [{ id: 'c', name: 'bash', args: '{"command":"ls"}' }]
  const { step, requests } = scripted(STEP_WIRES.anthropic, [{ calls }], {
    tools: [{ ...bash, repeatable: true, execute: ({ command }) => `ran ${String(command)}` }, search],
    system: 'Be brief.',
  })
  expect((await conversation.run(step)).status).toBe('finished')
  expect(requests[0]?.['tools']).toEqual([bash, search])
  expect(JSON.stringify(requests[1])).toContain('ran ls')
  const call = (await branch(conversation)).find((event) => event.kind === 'ActionEvent')
  expect(call?.kind === 'ActionEvent' && step.repeats?.(call)).toBe(true)
})

it("a provider's tool that the step does not execute keeps all its fields", async () => {
  const image = { type: 'image_generation', background: 'transparent' }
  const { step, requests } = scripted(STEP_WIRES.responses, [], { tools: [image] })
  await (await begin()).run(step)
  expect(requests[0]?.['tools']).toEqual([image])
})

describe('the execution of calls', () => {
  it('reports an error if the tool no longer exists', async () => {
    const conversation = await begin()
    await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
    const calls = [{ id: 'c', name: 'do', args: '{}' }]
    await conversation.run(scripted(STEP_WIRES.chat, [{ calls }], { tools: [toolOf(() => '')] }).step)
    const id = (await branch(conversation)).find(({ kind }) => kind === 'ActionEvent')?.id ?? ''
    await conversation.approve([id])
    await conversation.run(scripted(STEP_WIRES.chat, []).step)
    expect(JSON.stringify(await branch(conversation))).toContain('there is no tool \\"do\\"')
  })

  it('is parallel, and appends each result when its tool finishes', async () => {
    const conversation = await begin()
    const waiting = Promise.withResolvers<string>()
    const tools = [
      toolOf(() => waiting.promise, { name: 'slow' }),
      toolOf(async () => 'quick', { name: 'quick' }),
    ]
    const calls = ['slow', 'quick'].map((name) => ({ id: name, name, args: '{}' }))
    const running = conversation.run(scripted(STEP_WIRES.chat, [{ calls }], { tools }).step)
    for await (const item of conversation.subscribe()) {
      if (item.type === 'event' && 'kind' in item.fact && item.fact.kind === 'ObservationEvent') break
    }
    waiting.resolve('slow')
    await running
    const results = (await branch(conversation)).flatMap((event) =>
      event.kind === 'ObservationEvent' ? [event.tool_name] : [],
    )
    expect(results).toEqual(['quick', 'slow'])
  })

  it('ends on an interrupt if a tool hangs, and aborts the signal of the tool', async () => {
    const conversation = await begin()
    let toolSignal: AbortSignal | null = null
    const hangs = toolOf(async (_, { signal, call }) => {
      toolSignal = signal
      expect(call.tool_call_id).toBe('c')
      await conversation.interrupt()
      return new Promise(() => undefined)
    })
    const { step } = scripted(STEP_WIRES.chat, [{ calls: [{ id: 'c', name: 'do', args: '{}' }] }], {
      tools: [hangs],
    })
    expect((await conversation.run(step)).status).toBe('paused')
    expect(toolSignal).toMatchObject({ aborted: true })
  })
})
