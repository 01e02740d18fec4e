import { setTimeout as sleep } from 'node:timers/promises'
import * as api from '@openhands/typescript-client'
import * as clients from '@openhands/typescript-client/clients'
import type { Server } from './server.ts'

/** The objects of the official client for one service, and values from earlier calls. */
export interface Fixture {
  readonly server: Server
  readonly agentServer: clients.AgentServerClient
  readonly cloud: clients.CloudClient
  readonly manager: api.ConversationManager
  readonly remote: api.RemoteConversation
  readonly workspace: api.RemoteWorkspace
  /** The folder of a sandbox; contains a git repository. */
  readonly folder: string
  readonly sandboxId: string
  /** Id of a conversation with a message and a reply. */
  readonly id: string
  /** Values that a call stores for later calls. */
  readonly saved: Map<string, string>
}

const AGENT = { kind: 'Agent', llm: { model: 'openai/gpt-x', api_key: 'sk-of-the-client' }, tools: [] }

export const agent = AGENT as unknown as api.AgentBase

/** Waits until a conversation has one of the statuses. */
export async function waitForStatus(
  fixture: Fixture,
  id: string,
  ...statuses: readonly string[]
): Promise<string> {
  for (;;) {
    const { execution_status: status } = await fixture.agentServer.conversations.getConversation(id)
    if (statuses.includes(String(status))) return String(status)
    await sleep(20)
  }
}

/** Creates a conversation with a first message, and waits for the status. */
export async function conversationWith(fixture: Fixture, text: string, status = 'finished'): Promise<string> {
  const { conversations } = fixture.agentServer
  const created = (await conversations.createConversation({
    agent,
    workspace: { working_dir: fixture.folder },
    initial_message: { role: 'user', content: [{ type: 'text', text }] },
    confirmation_policy: { kind: text === 'call' ? 'AlwaysConfirm' : 'NeverConfirm' },
  } as never)) as { readonly id: string }
  await waitForStatus(fixture, created.id, status)
  return created.id
}

export const conversationWithCall = (fixture: Fixture): Promise<string> =>
  conversationWith(fixture, 'call', 'waiting_for_confirmation')

/** The classes with methods that call a server. */
export const CLASSES: Readonly<Record<string, { readonly prototype: object }>> = {
  ServerClient: clients.ServerClient,
  ConversationClient: clients.ConversationClient,
  RemoteConversation: api.RemoteConversation,
  RemoteState: api.RemoteState,
  RemoteEventsList: api.RemoteEventsList,
  ConversationManager: api.ConversationManager,
  RemoteWorkspace: api.RemoteWorkspace,
  FileClient: clients.FileClient,
  BashClient: clients.BashClient,
  SettingsClient: clients.SettingsClient,
  ProfilesClient: clients.ProfilesClient,
  AgentProfilesClient: clients.AgentProfilesClient,
  MetaProfilesClient: clients.MetaProfilesClient,
  SkillsClient: clients.SkillsClient,
  SubAgentsClient: clients.SubAgentsClient,
  PluginsClient: clients.PluginsClient,
  HooksClient: clients.HooksClient,
  MCPClient: clients.MCPClient,
  LLMMetadataClient: clients.LLMMetadataClient,
  ToolClient: clients.ToolClient,
  VSCodeClient: clients.VSCodeClient,
  DesktopClient: clients.DesktopClient,
  WorkspacesClient: clients.WorkspacesClient,
  SharedClient: clients.SharedClient,
  AgentServerClient: clients.AgentServerClient,
  CloudClient: clients.CloudClient,
}

/** Methods that call no server: they store received events, or are parts of other methods. */
const LOCAL_METHODS: Readonly<Record<string, readonly string[]>> = {
  BashClient: ['normalizeRequest'],
  CloudClient: ['profileBasePath', 'buildUpstreamAuthHeaders', 'requestDirect', 'requestThroughProxy'],
  RemoteEventsList: ['addEvent', 'append', 'createDefaultCallback', 'length', 'getEvent'],
  RemoteState: ['normalizeFullState', 'updateStateFromEvent', 'createStateUpdateCallback', 'setAgentStatus'],
  WorkspacesClient: ['ensureWorkspacesSupported'],
}

/** All methods of the client that call a server. */
export const methods = (): string[] =>
  Object.entries(CLASSES).flatMap(([name, { prototype }]) =>
    Object.getOwnPropertyNames(prototype)
      .filter((method) => typeof Object.getOwnPropertyDescriptor(prototype, method)?.value === 'function')
      .filter((method) => !['constructor', 'close', ...(LOCAL_METHODS[name] ?? [])].includes(method))
      .map((method) => `${name}.${method}`),
  )

/** Creates the clients, a sandbox with a repository, and a conversation. */
export async function createFixture(server: Server): Promise<Fixture> {
  const options = { host: server.url, ...(server.key !== null && { apiKey: server.key }) }
  const agentServer = new clients.AgentServerClient(options)
  const cloud = new clients.CloudClient({ ...options, orgId: null })
  const manager = new api.ConversationManager(options)
  const sandbox = await cloud.post<{ readonly id: string }>('/api/v1/sandboxes')
  const { home } = await agentServer.files.getHome()
  const folder = `${home}/${sandbox.id}/workspace`
  const workspace = new api.RemoteWorkspace({ ...options, workingDir: folder })
  const git = 'git -c user.name=A -c user.email=a@b.c'
  const script = `git init -q && echo one > kept.txt && git add . && ${git} commit -qm First && echo two > kept.txt && ${git} commit -qam Second && echo three > kept.txt && echo new > new.txt && mkdir inner`
  const { exit_code, stderr } = await workspace.executeCommand(script, folder)
  if (exit_code !== 0) throw new Error(stderr)
  const fixture: Omit<Fixture, 'id' | 'remote'> = {
    server,
    agentServer,
    cloud,
    manager,
    workspace,
    folder,
    sandboxId: sandbox.id,
    saved: new Map(),
  }
  const id = await conversationWith(fixture as Fixture, 'Hello')
  const remote = new api.RemoteConversation(agent, workspace, { conversationId: id })
  return { ...fixture, id, remote }
}
