/** Endpoints of unsupported features, with empty responses. OpenHands web pages call these endpoints on every load. */

import { type Operation, operationsIn, type Route } from './http/operation.ts'

const operation = operationsIn('Empty lists')

const EMPTY_PAGE = { items: [], next_page_id: null } as const
const NO_AUTOMATIONS = { status: 'ok', enabled: false, detail: 'This service has no automations.' } as const

/** The response of each path; null means 204 without a body. */
const RESPONSES: Readonly<Record<Route, object | null>> = {
  'post /api/skills': { skills: [], sources: {} },
  'post /api/skills/sync': { status: 'success', message: 'There are no public skills here.' },
  'get /api/skills/installed': { skills: [] },
  'get /api/skills/marketplace': { skills: [] },
  'post /api/sub-agents': { agents: [] },
  'post /api/plugins': { plugins: [] },
  'get /api/plugins/installed': { plugins: [] },
  'get /api/plugins/marketplace': { plugins: [] },
  'post /api/hooks': { hook_config: null },
  'get /api/tools/': [],
  'get /api/meta-profiles': { meta_profiles: [], active_meta_profile: null },
  'get /api/llm/models/verified': { models: {} },
  'get /api/llm/subscription/openai/models': { models: [], vendor: 'openai' },
  'get /api/llm/subscription/openai/status': { connected: false, vendor: 'openai' },
  'get /api/desktop/url': { url: null },
  'get /api/v1/skills/search': EMPTY_PAGE,
  'get /api/v1/git/repositories/search': EMPTY_PAGE,
  'get /api/v1/git/installations/search': EMPTY_PAGE,
  'get /api/v1/git/branches/search': EMPTY_PAGE,
  'get /api/v1/git/suggested-tasks/search': EMPTY_PAGE,
  'get /api/llm/provider-connections': [],
  'get /api/llm/balance': { provider: null },
  'get /api/automation/v1': { automations: [], total: 0 },
  'get /api/automation/sdk-version': { sdk_version: null },
  'post /api/automation/v1/telemetry/consent': null,
  'get /api/automation/server_info': NO_AUTOMATIONS,
  'get /api/automation/health': NO_AUTOMATIONS,
  // Web pages create a session before they show files in frames, whose requests cannot have a key in a header.
  'post /api/auth/workspace-session': null,
  'delete /api/auth/workspace-session': null,
}

export const emptyListOperations = (): Operation[] =>
  Object.entries(RESPONSES).map(([route, body]) => {
    const name = route.replaceAll(/\W+/g, ' ').trim()
    return operation(route as Route, {
      operationId: name.replaceAll(' ', '_'),
      summary: `Empty: ${name.replace(/^\w+ api (?:v1 )?/, '')}`,
      ...(body === null
        ? { status: 204, description: 'Accepted without effect' }
        : { description: 'Always empty', returns: { type: Array.isArray(body) ? 'array' : 'object' } }),
      handle: () => body,
    })
  })
