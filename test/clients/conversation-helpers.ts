import { agent, type Fixture } from './fixture.ts'

export const NO_GOALS = 'The service has no goal loops: the agent decides when it is done.'

export const NO_ACP = 'The service has no ACP agents.'

export const client = (w: Fixture) => w.agentServer.conversations

export const createIdle = async (w: Fixture) =>
  (await client(w).createConversation({
    agent,
    workspace: { kind: 'LocalWorkspace', working_dir: w.folder },
    tags: { env: 'test' },
    max_iterations: 7,
    hook_config: null,
    agent_definitions: [],
    tool_module_qualnames: { a: 'b' },
    secrets: { TOKEN: { kind: 'StaticSecret', value: 'sk-hush' } },
  } as never)) as unknown as { readonly id: string }

export const eventId = async (w: Fixture): Promise<string> => {
  const { items } = await client(w).searchEvents(w.id, { limit: 1 })
  return String(items[0]?.id)
}

export const messages = {
  items: [
    { kind: 'MessageEvent', source: 'user' },
    { kind: 'MessageEvent', source: 'agent' },
  ],
}

export const messagesOnly = { kind: 'MessageEvent' } as const
