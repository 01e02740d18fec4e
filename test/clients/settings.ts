/** Rows about settings, profiles, secrets, catalogues, and information about the server. */

import { expect } from 'vitest'
import { VERSION } from '../../src/service/version.ts'
import type { World } from './clients.ts'
import { empty, out, type Row, works } from './table.ts'

const of = (w: World) => w.agentServer
const NO_INSTALLING = 'Skills and plugins belong to the agent and cannot be installed.'
const NO_META = 'The service has no meta profiles.'
const NO_MCP = 'Only the agent connects to MCP servers.'
const NO_LOGIN = 'OpenAI subscriptions are not supported.'

export const SETTINGS: readonly Row[] = [
  works('ServerClient.getRoot', (w) => of(w).server.getRoot(), { title: 'Colloquy' }),
  works('ServerClient.getAlive', (w) => of(w).server.getAlive(), { status: 'ok' }),
  works('ServerClient.getHealth', (w) => of(w).server.getHealth(), { status: 'ok' }),
  works('ServerClient.getReady', (w) => of(w).server.getReady(), { status: 'ready' }),
  works('ServerClient.getServerInfo', (w) => of(w).server.getServerInfo(), {
    version: '1.44.0',
    colloquy_version: VERSION,
  }),

  works('SettingsClient.getAgentSchema', (w) => of(w).settings.getAgentSchema(), {
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
  works('SettingsClient.getConversationSchema', (w) => of(w).settings.getConversationSchema(), {
    sections: [{ key: 'general' }, { key: 'verification' }],
  }),
  works(
    'SettingsClient.updateSettings',
    (w) =>
      of(w).settings.updateSettings({
        agent_settings_diff: { llm: { model: 'openai/set', api_key: 'sk-hush' } },
        conversation_settings_diff: { max_iterations: 9 },
      } as never),
    { agent_settings: { llm: { model: 'openai/set', api_key: '**********' } }, llm_api_key_is_set: true },
  ),
  works('SettingsClient.getSettings', (w) => of(w).settings.getSettings({ exposeSecrets: 'encrypted' }), {
    // The key is left out instead of masked, because the client would use a mask as the key.
    agent_settings: { llm: { model: 'openai/set' } },
    conversation_settings: { max_iterations: 9 },
  }),
  works(
    'SettingsClient.createMcpServer',
    (w) =>
      of(w).settings.createMcpServer('files', {
        transport: 'stdio',
        command: 'mcp-files',
        args: ['-v'],
        env: { API_TOKEN: 'sk-hush' },
      } as never),
    { agent_settings: { mcp_config: { files: { command: 'mcp-files', env: { API_TOKEN: '**********' } } } } },
  ),
  works(
    'SettingsClient.patchMcpServer',
    (w) => of(w).settings.patchMcpServer('files', { description: 'Files' } as never),
    {
      agent_settings: { mcp_config: { files: { command: 'mcp-files', description: 'Files' } } },
    },
  ),
  works('SettingsClient.deleteMcpServer', (w) => of(w).settings.deleteMcpServer('files'), {
    agent_settings: {
      mcp_config: expect.not.objectContaining({ files: expect.anything() as unknown }) as unknown,
    },
  }),
  works(
    'SettingsClient.upsertSecret',
    (w) => of(w).settings.upsertSecret({ name: 'TOKEN', value: 'sk-hush', description: 'For it' }),
    { name: 'TOKEN', description: 'For it' },
  ),
  works('SettingsClient.listSecrets', (w) => of(w).settings.listSecrets(), {
    secrets: [{ name: 'TOKEN', description: 'For it' }],
  }),
  out('SettingsClient.getSecret', 'Stored secrets go to the agent and are never returned.', (w) =>
    of(w).settings.getSecret('TOKEN'),
  ),
  works('SettingsClient.deleteSecret', (w) => of(w).settings.deleteSecret('TOKEN'), { deleted: true }),
  works(
    'SettingsClient.saveProfile',
    (w) => of(w).settings.saveProfile('p1', { llm: { model: 'openai/p' } } as never),
    {
      name: 'p1',
    },
  ),
  works('SettingsClient.listProfiles', (w) => of(w).settings.listProfiles(), {
    profiles: expect.arrayContaining([expect.objectContaining({ name: 'p1', model: 'openai/p' })]) as unknown,
  }),
  works('SettingsClient.getProfile', (w) => of(w).settings.getProfile('p1'), {
    config: { model: 'openai/p' },
  }),
  works('SettingsClient.renameProfile', (w) => of(w).settings.renameProfile('p1', 'p2'), { name: 'p2' }),
  works('SettingsClient.deleteProfile', (w) => of(w).settings.deleteProfile('p2'), {
    name: 'p2',
    message: 'The profile was deleted.',
  }),

  works(
    'ProfilesClient.saveProfile',
    (w) => of(w).profiles.saveProfile('q1', { llm: { model: 'anthropic/q', api_key: 'sk-hush' } } as never),
    {
      name: 'q1',
    },
  ),
  works('ProfilesClient.listProfiles', (w) => of(w).profiles.listProfiles(), {
    profiles: expect.arrayContaining([expect.objectContaining({ name: 'q1', api_key_set: true })]) as unknown,
  }),
  works('ProfilesClient.getProfile', (w) => of(w).profiles.getProfile('q1'), {
    config: { model: 'anthropic/q', api_key: null },
  }),
  works('ProfilesClient.activateProfile', (w) => of(w).profiles.activateProfile('q1'), { llm_applied: true }),
  works(
    'ProfilesClient.validateProfile',
    (w) =>
      of(w).profiles.validateProfile('q1', { llm: { model: 'm', base_url: 'http://127.0.0.1:1' } } as never),
    {
      valid: false,
      error: { type: 'APIConnectionError', message: 'The provider cannot be reached at its base_url.' },
    },
  ),
  works('ProfilesClient.renameProfile', (w) => of(w).profiles.renameProfile('q1', 'q2'), { name: 'q2' }),
  works('ProfilesClient.deleteProfile', (w) => of(w).profiles.deleteProfile('q2'), { name: 'q2' }),

  works(
    'AgentProfilesClient.saveAgentProfile',
    (w) =>
      of(w).agentProfiles.saveAgentProfile('coder', {
        agent_kind: 'openhands',
        llm_profile_ref: 'switched',
        mcp_server_refs: ['gone'],
      }),
    { name: 'coder' },
  ),
  works(
    'AgentProfilesClient.listAgentProfiles',
    async (w) => {
      const list = await of(w).agentProfiles.listAgentProfiles()
      w.kept.set('coder', String(list.profiles[0]?.id))
      return list
    },
    {
      profiles: [{ name: 'coder', revision: 0, llm_profile_ref: 'switched' }],
      active_agent_profile_id: null,
    },
  ),
  works('AgentProfilesClient.getAgentProfile', (w) => of(w).agentProfiles.getAgentProfile('coder'), {
    profile: { name: 'coder', agent_kind: 'openhands' },
  }),
  works(
    'AgentProfilesClient.materializeAgentProfile',
    (w) => of(w).agentProfiles.materializeAgentProfile('coder'),
    {
      valid: false,
      dangling_mcp_server_refs: ['gone'],
      llm_profile_resolved: true,
    },
  ),
  works(
    'AgentProfilesClient.activateAgentProfile',
    (w) => of(w).agentProfiles.activateAgentProfile(w.kept.get('coder') ?? ''),
    { agent_settings_applied: true },
  ),
  works(
    'AgentProfilesClient.renameAgentProfile',
    (w) => of(w).agentProfiles.renameAgentProfile('coder', 'writer'),
    { name: 'writer' },
  ),
  works('AgentProfilesClient.deleteAgentProfile', (w) => of(w).agentProfiles.deleteAgentProfile('writer'), {
    name: 'writer',
  }),

  empty('MetaProfilesClient.listMetaProfiles', (w) => of(w).metaProfiles.listMetaProfiles(), {
    meta_profiles: [],
    active_meta_profile: null,
  }),
  out('MetaProfilesClient.getMetaProfile', NO_META, (w) => of(w).metaProfiles.getMetaProfile('x')),
  out('MetaProfilesClient.saveMetaProfile', NO_META, (w) =>
    of(w).metaProfiles.saveMetaProfile('x', {} as never),
  ),
  out('MetaProfilesClient.deleteMetaProfile', NO_META, (w) => of(w).metaProfiles.deleteMetaProfile('x')),
  out('MetaProfilesClient.activateMetaProfile', NO_META, (w) => of(w).metaProfiles.activateMetaProfile('x')),

  empty('SkillsClient.getSkills', (w) => of(w).skills.getSkills(), { skills: [], sources: {} }),
  empty('SkillsClient.syncSkills', (w) => of(w).skills.syncSkills(), {
    status: 'success',
    message: 'There are no public skills here.',
  }),
  empty('SkillsClient.listInstalledSkills', (w) => of(w).skills.listInstalledSkills(), { skills: [] }),
  empty('SkillsClient.getMarketplace', (w) => of(w).skills.getMarketplace(), { skills: [] }),
  out('SkillsClient.installSkill', NO_INSTALLING, (w) => of(w).skills.installSkill({ source: 'x' })),
  out('SkillsClient.getInstalledSkill', NO_INSTALLING, (w) => of(w).skills.getInstalledSkill('x')),
  out('SkillsClient.toggleSkill', NO_INSTALLING, (w) => of(w).skills.toggleSkill('x', true)),
  out('SkillsClient.uninstallSkill', NO_INSTALLING, (w) => of(w).skills.uninstallSkill('x')),
  out('SkillsClient.refreshSkill', NO_INSTALLING, (w) => of(w).skills.refreshSkill('x')),

  empty('SubAgentsClient.getSubAgents', (w) => of(w).subAgents.getSubAgents(), { agents: [] }),
  empty('PluginsClient.getPlugins', (w) => of(w).plugins.getPlugins(), { plugins: [] }),
  empty('PluginsClient.getPluginsMarketplace', (w) => of(w).plugins.getPluginsMarketplace(), { plugins: [] }),
  empty('PluginsClient.listInstalledPlugins', (w) => of(w).plugins.listInstalledPlugins(), { plugins: [] }),
  out('PluginsClient.installPlugin', NO_INSTALLING, (w) => of(w).plugins.installPlugin({ source: 'x' })),
  out('PluginsClient.getInstalledPlugin', NO_INSTALLING, (w) => of(w).plugins.getInstalledPlugin('x')),
  out('PluginsClient.setPluginEnabled', NO_INSTALLING, (w) => of(w).plugins.setPluginEnabled('x', true)),
  out('PluginsClient.uninstallPlugin', NO_INSTALLING, (w) => of(w).plugins.uninstallPlugin('x')),
  out('PluginsClient.refreshPlugin', NO_INSTALLING, (w) => of(w).plugins.refreshPlugin('x')),

  empty('HooksClient.loadHooks', (w) => of(w).hooks.loadHooks(), { hook_config: null }),
  out('MCPClient.testServer', NO_MCP, (w) =>
    of(w).mcp.testServer({ server: { type: 'stdio', command: 'x' } } as never),
  ),
  out('MCPClient.startOAuth', NO_MCP, (w) =>
    of(w).mcp.startOAuth({ server: { type: 'http', url: 'x' } } as never),
  ),
  out('MCPClient.getOAuthStatus', NO_MCP, (w) => of(w).mcp.getOAuthStatus('x')),
  out('MCPClient.submitOAuthCallback', NO_MCP, (w) => of(w).mcp.submitOAuthCallback('x', {} as never)),

  works(
    'LLMMetadataClient.getProviders',
    (w) => of(w).llm.getProviders(),
    expect.arrayContaining(['openai']),
  ),
  works(
    'LLMMetadataClient.getModels',
    (w) => of(w).llm.getModels('openai'),
    expect.arrayContaining(['openai/of-a-profile']),
  ),
  empty('LLMMetadataClient.getVerifiedModels', (w) => of(w).llm.getVerifiedModels(), {}),
  empty('LLMMetadataClient.getOpenAISubscriptionModels', (w) => of(w).llm.getOpenAISubscriptionModels(), []),
  empty('LLMMetadataClient.getOpenAISubscriptionStatus', (w) => of(w).llm.getOpenAISubscriptionStatus(), {
    connected: false,
    vendor: 'openai',
  }),
  out('LLMMetadataClient.startOpenAISubscriptionDeviceLogin', NO_LOGIN, (w) =>
    of(w).llm.startOpenAISubscriptionDeviceLogin(),
  ),
  out('LLMMetadataClient.pollOpenAISubscriptionDeviceLogin', NO_LOGIN, (w) =>
    of(w).llm.pollOpenAISubscriptionDeviceLogin('x'),
  ),
  out('LLMMetadataClient.logoutOpenAISubscription', NO_LOGIN, (w) => of(w).llm.logoutOpenAISubscription()),
  empty('ToolClient.listTools', (w) => of(w).tools.listTools(), []),

  works(
    'VSCodeClient.getUrl',
    (w) => of(w).vscode.getUrl({ workspaceDir: 'x' }),
    'http://localhost:8001/?tkn=of-the-editor&folder=x',
  ),
  works('VSCodeClient.getStatus', (w) => of(w).vscode.getStatus(), { running: true, enabled: true }),
  empty('DesktopClient.getUrl', (w) => of(w).desktop.getUrl(), null),

  works(
    'WorkspacesClient.addWorkspaces',
    (w) => of(w).workspaces.addWorkspaces([{ id: '/w', name: 'w', path: '/w' }] as never),
    { workspaces: [{ name: 'w', path: '/w' }] },
  ),
  works(
    'WorkspacesClient.addWorkspaceParents',
    (w) => of(w).workspaces.addWorkspaceParents([{ id: '/', name: 'root', path: '/' }] as never),
    { workspaceParents: [{ name: 'root' }] },
  ),
  works('WorkspacesClient.listWorkspaces', (w) => of(w).workspaces.listWorkspaces(), {
    workspaces: [{ path: '/w' }],
    workspaceParents: [{ path: '/' }],
  }),
  works('WorkspacesClient.deleteWorkspace', (w) => of(w).workspaces.deleteWorkspace('/w'), { deleted: true }),
  works('WorkspacesClient.deleteWorkspaceParent', (w) => of(w).workspaces.deleteWorkspaceParent('/none'), {
    deleted: false,
  }),

  works('AgentServerClient.request', (w) => of(w).request({ method: 'GET', path: '/health' }), {
    status: 'ok',
  }),
]
