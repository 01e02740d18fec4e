/** Rows about settings, profiles, secrets, catalogues, and information about the server. */

import { expect } from 'vitest'
import { VERSION } from '../../src/service/version.ts'
import type { Fixture } from './fixture.ts'
import { empty, rejected, type MethodRow, works } from './method-row.ts'

const server = (w: Fixture) => w.agentServer
const NO_INSTALLING = 'Skills and plugins belong to the agent and cannot be installed.'
const NO_META = 'The service has no meta profiles.'
const NO_MCP = 'Only the agent connects to MCP servers.'
const NO_LOGIN = 'OpenAI subscriptions are not supported.'

export const SETTINGS: readonly MethodRow[] = [
  works('ServerClient.getRoot', (w) => server(w).server.getRoot(), { title: 'Colloquy' }),
  works('ServerClient.getAlive', (w) => server(w).server.getAlive(), { status: 'ok' }),
  works('ServerClient.getHealth', (w) => server(w).server.getHealth(), { status: 'ok' }),
  works('ServerClient.getReady', (w) => server(w).server.getReady(), { status: 'ready' }),
  works('ServerClient.getServerInfo', (w) => server(w).server.getServerInfo(), {
    version: '1.44.0',
    colloquy_version: VERSION,
  }),

  works('SettingsClient.getAgentSchema', (w) => server(w).settings.getAgentSchema(), {
    sections: [
      {
        key: 'llm',
        fields: expect.arrayContaining([
          expect.objectContaining({ key: 'llm.api_key', secret: true }),
        ]) as unknown,
      },
      { key: 'condenser' },
    ],
  }),
  works('SettingsClient.getConversationSchema', (w) => server(w).settings.getConversationSchema(), {
    sections: [{ key: 'general' }, { key: 'verification' }],
  }),
  works(
    'SettingsClient.updateSettings',
    (w) =>
      server(w).settings.updateSettings({
        agent_settings_diff: { llm: { model: 'openai/set', api_key: 'sk-hush' } },
        conversation_settings_diff: { max_iterations: 9 },
      } as never),
    { agent_settings: { llm: { model: 'openai/set', api_key: '**********' } }, llm_api_key_is_set: true },
  ),
  works('SettingsClient.getSettings', (w) => server(w).settings.getSettings({ exposeSecrets: 'encrypted' }), {
    // The key is left out instead of masked, because the client would use a mask as the key.
    agent_settings: { llm: { model: 'openai/set' } },
    conversation_settings: { max_iterations: 9 },
  }),
  works(
    'SettingsClient.createMcpServer',
    (w) =>
      server(w).settings.createMcpServer('files', {
        transport: 'stdio',
        command: 'mcp-files',
        args: ['-v'],
        env: { API_TOKEN: 'sk-hush' },
      } as never),
    { agent_settings: { mcp_config: { files: { command: 'mcp-files', env: { API_TOKEN: '**********' } } } } },
  ),
  works(
    'SettingsClient.patchMcpServer',
    (w) => server(w).settings.patchMcpServer('files', { description: 'Files' } as never),
    {
      agent_settings: { mcp_config: { files: { command: 'mcp-files', description: 'Files' } } },
    },
  ),
  works('SettingsClient.deleteMcpServer', (w) => server(w).settings.deleteMcpServer('files'), {
    agent_settings: {
      mcp_config: expect.not.objectContaining({ files: expect.anything() as unknown }) as unknown,
    },
  }),
  works(
    'SettingsClient.upsertSecret',
    (w) => server(w).settings.upsertSecret({ name: 'TOKEN', value: 'sk-hush', description: 'For it' }),
    { name: 'TOKEN', description: 'For it' },
  ),
  works('SettingsClient.listSecrets', (w) => server(w).settings.listSecrets(), {
    secrets: [{ name: 'TOKEN', description: 'For it' }],
  }),
  rejected('SettingsClient.getSecret', 'Stored secrets go to the agent and are never returned.', (w) =>
    server(w).settings.getSecret('TOKEN'),
  ),
  works('SettingsClient.deleteSecret', (w) => server(w).settings.deleteSecret('TOKEN'), { deleted: true }),
  works(
    'SettingsClient.saveProfile',
    (w) => server(w).settings.saveProfile('p1', { llm: { model: 'openai/p' } } as never),
    {
      name: 'p1',
    },
  ),
  works('SettingsClient.listProfiles', (w) => server(w).settings.listProfiles(), {
    profiles: expect.arrayContaining([expect.objectContaining({ name: 'p1', model: 'openai/p' })]) as unknown,
  }),
  works('SettingsClient.getProfile', (w) => server(w).settings.getProfile('p1'), {
    config: { model: 'openai/p' },
  }),
  works('SettingsClient.renameProfile', (w) => server(w).settings.renameProfile('p1', 'p2'), { name: 'p2' }),
  works('SettingsClient.deleteProfile', (w) => server(w).settings.deleteProfile('p2'), {
    name: 'p2',
    message: 'The profile was deleted.',
  }),

  works(
    'ProfilesClient.saveProfile',
    (w) =>
      server(w).profiles.saveProfile('q1', { llm: { model: 'anthropic/q', api_key: 'sk-hush' } } as never),
    {
      name: 'q1',
    },
  ),
  works('ProfilesClient.listProfiles', (w) => server(w).profiles.listProfiles(), {
    profiles: expect.arrayContaining([expect.objectContaining({ name: 'q1', api_key_set: true })]) as unknown,
  }),
  works('ProfilesClient.getProfile', (w) => server(w).profiles.getProfile('q1'), {
    config: { model: 'anthropic/q', api_key: null },
  }),
  works('ProfilesClient.activateProfile', (w) => server(w).profiles.activateProfile('q1'), {
    llm_applied: true,
  }),
  works(
    'ProfilesClient.validateProfile',
    (w) =>
      server(w).profiles.validateProfile('q1', {
        llm: { model: 'm', base_url: 'http://127.0.0.1:1' },
      } as never),
    {
      valid: false,
      error: { type: 'APIConnectionError', message: 'The provider cannot be reached at its base_url.' },
    },
  ),
  works('ProfilesClient.renameProfile', (w) => server(w).profiles.renameProfile('q1', 'q2'), { name: 'q2' }),
  works('ProfilesClient.deleteProfile', (w) => server(w).profiles.deleteProfile('q2'), { name: 'q2' }),

  works(
    'AgentProfilesClient.saveAgentProfile',
    (w) =>
      server(w).agentProfiles.saveAgentProfile('coder', {
        agent_kind: 'openhands',
        llm_profile_ref: 'switched',
        mcp_server_refs: ['gone'],
      }),
    { name: 'coder' },
  ),
  works(
    'AgentProfilesClient.listAgentProfiles',
    async (w) => {
      const list = await server(w).agentProfiles.listAgentProfiles()
      w.saved.set('coder', String(list.profiles[0]?.id))
      return list
    },
    {
      profiles: [{ name: 'coder', revision: 0, llm_profile_ref: 'switched' }],
      active_agent_profile_id: null,
    },
  ),
  works('AgentProfilesClient.getAgentProfile', (w) => server(w).agentProfiles.getAgentProfile('coder'), {
    profile: { name: 'coder', agent_kind: 'openhands' },
  }),
  works(
    'AgentProfilesClient.materializeAgentProfile',
    (w) => server(w).agentProfiles.materializeAgentProfile('coder'),
    {
      valid: false,
      dangling_mcp_server_refs: ['gone'],
      llm_profile_resolved: true,
    },
  ),
  works(
    'AgentProfilesClient.activateAgentProfile',
    (w) => server(w).agentProfiles.activateAgentProfile(w.saved.get('coder') ?? ''),
    { agent_settings_applied: true },
  ),
  works(
    'AgentProfilesClient.renameAgentProfile',
    (w) => server(w).agentProfiles.renameAgentProfile('coder', 'writer'),
    { name: 'writer' },
  ),
  works(
    'AgentProfilesClient.deleteAgentProfile',
    (w) => server(w).agentProfiles.deleteAgentProfile('writer'),
    {
      name: 'writer',
    },
  ),

  empty('MetaProfilesClient.listMetaProfiles', (w) => server(w).metaProfiles.listMetaProfiles(), {
    meta_profiles: [],
    active_meta_profile: null,
  }),
  rejected('MetaProfilesClient.getMetaProfile', NO_META, (w) => server(w).metaProfiles.getMetaProfile('x')),
  rejected('MetaProfilesClient.saveMetaProfile', NO_META, (w) =>
    server(w).metaProfiles.saveMetaProfile('x', {} as never),
  ),
  rejected('MetaProfilesClient.deleteMetaProfile', NO_META, (w) =>
    server(w).metaProfiles.deleteMetaProfile('x'),
  ),
  rejected('MetaProfilesClient.activateMetaProfile', NO_META, (w) =>
    server(w).metaProfiles.activateMetaProfile('x'),
  ),

  empty('SkillsClient.getSkills', (w) => server(w).skills.getSkills(), { skills: [], sources: {} }),
  empty('SkillsClient.syncSkills', (w) => server(w).skills.syncSkills(), {
    status: 'success',
    message: 'There are no public skills here.',
  }),
  empty('SkillsClient.listInstalledSkills', (w) => server(w).skills.listInstalledSkills(), { skills: [] }),
  empty('SkillsClient.getMarketplace', (w) => server(w).skills.getMarketplace(), { skills: [] }),
  rejected('SkillsClient.installSkill', NO_INSTALLING, (w) => server(w).skills.installSkill({ source: 'x' })),
  rejected('SkillsClient.getInstalledSkill', NO_INSTALLING, (w) => server(w).skills.getInstalledSkill('x')),
  rejected('SkillsClient.toggleSkill', NO_INSTALLING, (w) => server(w).skills.toggleSkill('x', true)),
  rejected('SkillsClient.uninstallSkill', NO_INSTALLING, (w) => server(w).skills.uninstallSkill('x')),
  rejected('SkillsClient.refreshSkill', NO_INSTALLING, (w) => server(w).skills.refreshSkill('x')),

  empty('SubAgentsClient.getSubAgents', (w) => server(w).subAgents.getSubAgents(), { agents: [] }),
  empty('PluginsClient.getPlugins', (w) => server(w).plugins.getPlugins(), { plugins: [] }),
  empty('PluginsClient.getPluginsMarketplace', (w) => server(w).plugins.getPluginsMarketplace(), {
    plugins: [],
  }),
  empty('PluginsClient.listInstalledPlugins', (w) => server(w).plugins.listInstalledPlugins(), {
    plugins: [],
  }),
  rejected('PluginsClient.installPlugin', NO_INSTALLING, (w) =>
    server(w).plugins.installPlugin({ source: 'x' }),
  ),
  rejected('PluginsClient.getInstalledPlugin', NO_INSTALLING, (w) =>
    server(w).plugins.getInstalledPlugin('x'),
  ),
  rejected('PluginsClient.setPluginEnabled', NO_INSTALLING, (w) =>
    server(w).plugins.setPluginEnabled('x', true),
  ),
  rejected('PluginsClient.uninstallPlugin', NO_INSTALLING, (w) => server(w).plugins.uninstallPlugin('x')),
  rejected('PluginsClient.refreshPlugin', NO_INSTALLING, (w) => server(w).plugins.refreshPlugin('x')),

  empty('HooksClient.loadHooks', (w) => server(w).hooks.loadHooks(), { hook_config: null }),
  rejected('MCPClient.testServer', NO_MCP, (w) =>
    server(w).mcp.testServer({ server: { type: 'stdio', command: 'x' } } as never),
  ),
  rejected('MCPClient.startOAuth', NO_MCP, (w) =>
    server(w).mcp.startOAuth({ server: { type: 'http', url: 'x' } } as never),
  ),
  rejected('MCPClient.getOAuthStatus', NO_MCP, (w) => server(w).mcp.getOAuthStatus('x')),
  rejected('MCPClient.submitOAuthCallback', NO_MCP, (w) =>
    server(w).mcp.submitOAuthCallback('x', {} as never),
  ),

  works(
    'LLMMetadataClient.getProviders',
    (w) => server(w).llm.getProviders(),
    expect.arrayContaining(['openai']),
  ),
  works(
    'LLMMetadataClient.getModels',
    (w) => server(w).llm.getModels('openai'),
    expect.arrayContaining(['openai/of-a-profile']),
  ),
  empty('LLMMetadataClient.getVerifiedModels', (w) => server(w).llm.getVerifiedModels(), {}),
  empty(
    'LLMMetadataClient.getOpenAISubscriptionModels',
    (w) => server(w).llm.getOpenAISubscriptionModels(),
    [],
  ),
  empty('LLMMetadataClient.getOpenAISubscriptionStatus', (w) => server(w).llm.getOpenAISubscriptionStatus(), {
    connected: false,
    vendor: 'openai',
  }),
  rejected('LLMMetadataClient.startOpenAISubscriptionDeviceLogin', NO_LOGIN, (w) =>
    server(w).llm.startOpenAISubscriptionDeviceLogin(),
  ),
  rejected('LLMMetadataClient.pollOpenAISubscriptionDeviceLogin', NO_LOGIN, (w) =>
    server(w).llm.pollOpenAISubscriptionDeviceLogin('x'),
  ),
  rejected('LLMMetadataClient.logoutOpenAISubscription', NO_LOGIN, (w) =>
    server(w).llm.logoutOpenAISubscription(),
  ),
  empty('ToolClient.listTools', (w) => server(w).tools.listTools(), []),

  works(
    'VSCodeClient.getUrl',
    (w) => server(w).vscode.getUrl({ workspaceDir: 'x' }),
    'http://localhost:8001/?tkn=of-the-editor&folder=x',
  ),
  works('VSCodeClient.getStatus', (w) => server(w).vscode.getStatus(), { running: true, enabled: true }),
  empty('DesktopClient.getUrl', (w) => server(w).desktop.getUrl(), null),

  works(
    'WorkspacesClient.addWorkspaces',
    (w) => server(w).workspaces.addWorkspaces([{ id: '/w', name: 'w', path: '/w' }] as never),
    { workspaces: [{ name: 'w', path: '/w' }] },
  ),
  works(
    'WorkspacesClient.addWorkspaceParents',
    (w) => server(w).workspaces.addWorkspaceParents([{ id: '/', name: 'root', path: '/' }] as never),
    { workspaceParents: [{ name: 'root' }] },
  ),
  works('WorkspacesClient.listWorkspaces', (w) => server(w).workspaces.listWorkspaces(), {
    workspaces: [{ path: '/w' }],
    workspaceParents: [{ path: '/' }],
  }),
  works('WorkspacesClient.deleteWorkspace', (w) => server(w).workspaces.deleteWorkspace('/w'), {
    deleted: true,
  }),
  works(
    'WorkspacesClient.deleteWorkspaceParent',
    (w) => server(w).workspaces.deleteWorkspaceParent('/none'),
    {
      deleted: false,
    },
  ),

  works('AgentServerClient.request', (w) => server(w).request({ method: 'GET', path: '/health' }), {
    status: 'ok',
  }),
]
