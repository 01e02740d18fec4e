/** The official client's classes over one service, and what the calls before have made there. */

import * as api from '@openhands/typescript-client'
import * as clients from '@openhands/typescript-client/clients'
import type { Server } from './world.ts'

/** What a call is given. */
export interface World {
  readonly server: Server
  readonly agentServer: clients.AgentServerClient
  readonly cloud: clients.CloudClient
  readonly manager: api.ConversationManager
  readonly remote: api.RemoteConversation
  readonly workspace: api.RemoteWorkspace
  /** The folder of a sandbox, which has a git repository. */
  readonly folder: string
  readonly sandboxId: string
  /** Of a conversation that has said and heard something; `other` for one that waits for consent. */
  readonly id: string
  /** What calls leave for those behind them. */
  readonly kept: Map<string, string>
}

const AGENT = { kind: 'Agent', llm: { model: 'openai/gpt-x', api_key: 'sk-of-the-client' }, tools: [] }

/** An agent as the client gives it. */
export const agent = AGENT as unknown as api.AgentBase

/** Waits for the state of a conversation that the service tells of. */
export async function rest(world: World, id: string, ...statuses: readonly string[]): Promise<string> {
  for (;;) {
    const { execution_status: status } = await world.agentServer.conversations.getConversation(id)
    if (statuses.includes(String(status))) return String(status)
  }
}

/** A conversation that was spoken to, and rests. */
export async function spoken(world: World, text: string, status = 'finished'): Promise<string> {
  const { conversations } = world.agentServer
  const made = (await conversations.createConversation({
    agent,
    workspace: { working_dir: world.folder },
    initial_message: { role: 'user', content: [{ type: 'text', text }] },
    confirmation_policy: { kind: text === 'call' ? 'AlwaysConfirm' : 'NeverConfirm' },
  } as never)) as { readonly id: string }
  await rest(world, made.id, status)
  return made.id
}

/** A conversation that waits for consent to a call. */
export const waiting = (world: World): Promise<string> => spoken(world, 'call', 'waiting_for_confirmation')

/** The classes whose methods ask a server, and how many levels of them are theirs. */
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

/** Methods that ask no server: they end the client, keep what came by a socket, or are parts of others. */
const ASIDE: Readonly<Record<string, readonly string[]>> = {
  BashClient: ['normalizeRequest'],
  CloudClient: ['profileBasePath', 'buildUpstreamAuthHeaders', 'requestDirect', 'requestThroughProxy'],
  RemoteEventsList: ['addEvent', 'append', 'createDefaultCallback', 'length', 'getEvent'],
  RemoteState: ['normalizeFullState', 'updateStateFromEvent', 'createStateUpdateCallback', 'setAgentStatus'],
  WorkspacesClient: ['ensureWorkspacesSupported'],
}

/** Every method of the client that asks a server, by its own prototypes. */
export const methods = (): string[] =>
  Object.entries(CLASSES).flatMap(([name, { prototype }]) =>
    Object.getOwnPropertyNames(prototype)
      .filter((method) => typeof Object.getOwnPropertyDescriptor(prototype, method)?.value === 'function')
      .filter((method) => !['constructor', 'close', ...(ASIDE[name] ?? [])].includes(method))
      .map((method) => `${name}.${method}`),
  )

/** Makes the clients, a sandbox with a repository in it, and a conversation. */
export async function makeWorld(server: Server): Promise<World> {
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
  const world: Omit<World, 'id' | 'remote'> = {
    server,
    agentServer,
    cloud,
    manager,
    workspace,
    folder,
    sandboxId: sandbox.id,
    kept: new Map(),
  }
  const id = await spoken(world as World, 'Hello')
  const remote = new api.RemoteConversation(agent, workspace, { conversationId: id })
  return { ...world, id, remote }
}
