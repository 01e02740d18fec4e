/** The Anthropic validator accepts server tool blocks, and rejects incomplete pairs of them. */

import { serverRules, validateAnthropic } from '../../src/messages/anthropic/rules.ts'
import { requestOf, assistant, call, done, userWith, result, text, user } from './anthropic-fixtures.ts'
import { type Broken, type Good, testTables } from './tables.ts'

const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
const matches = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
const mcpCall = { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'ls', server_name: 'files', input: {} }
const mcpResult = { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', content: [], is_error: false }
const codeCall = { ...call('a'), caller: { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' } }

const good: Good[] = [
  {
    name: 'a search and its result',
    request: requestOf(user, assistant(search, matches, text('Oak.')), user),
  },
  { name: 'a tool of an MCP server', request: requestOf(user, assistant(mcpCall, mcpResult), user) },
  {
    name: 'a pending search next to a call with its result',
    request: requestOf(user, assistant(search, call('a')), userWith(result('a'))),
  },
  {
    name: 'the result of a search in the continued reply',
    request: requestOf(
      user,
      assistant(search, codeCall),
      userWith(result('a')),
      assistant(matches, text('Oak.')),
      user,
    ),
  },
  { name: 'a paused reply at the end', request: requestOf(user, assistant(text('I look.'), search)) },
]

const broken: Broken[] = [
  {
    name: 'a server result without its call',
    request: requestOf(user, assistant(matches, text('Oak.')), user),
    breaks: ['server-results-follow-calls'],
  },
  {
    name: 'a search result for an MCP call',
    request: requestOf(user, assistant(mcpCall, { ...matches, tool_use_id: 'mcptoolu_1' }), user),
    breaks: ['server-results-follow-calls', 'server-calls-with-results'],
  },
  {
    name: 'a server call without its result',
    request: requestOf(user, assistant(search, text('Oak.')), user),
    breaks: ['server-calls-with-results'],
  },
  {
    name: 'a user message between a server call and its result',
    request: requestOf(user, assistant(search), user, assistant(matches), user),
    breaks: ['server-results-follow-calls', 'server-calls-with-results'],
  },
  {
    name: 'a repeated server call',
    request: requestOf(user, assistant(search, matches, search, matches), user),
    breaks: ['server-call-once'],
  },
  {
    name: 'an unknown caller',
    request: requestOf(user, assistant(codeCall), userWith(result('a')), done),
    breaks: ['caller-known'],
  },
]

testTables({ validate: (request) => validateAnthropic(request), rules: serverRules, good, broken })
