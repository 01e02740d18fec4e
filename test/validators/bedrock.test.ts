import { bedrockRules, validateBedrock } from '../../src/messages/bedrock/rules.ts'
import { type Broken, type Good, testTables } from './tables.ts'

const user = { role: 'user', content: [{ text: 'List the files.' }] }
const done = { role: 'assistant', content: [{ text: 'Done.' }] }
const use = (toolUseId: string, name = 'ls') => ({ toolUse: { toolUseId, name, input: { path: '.' } } })
const result = (toolUseId: string, more: object = {}) => ({
  toolResult: { toolUseId, content: [{ text: 'a.txt' }], status: 'success', ...more },
})
const calls = (...content: unknown[]) => ({ role: 'assistant', content })
const says = (...content: unknown[]) => ({ role: 'user', content })
const thought = { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'c2ln' } } }
const image = (bytes: unknown) => ({ image: { format: 'png', source: { bytes } } })
const png = image(new Uint8Array([1]))
const pdf = (name: string) => ({ document: { format: 'pdf', name, source: { bytes: new Uint8Array([1]) } } })
const of = (...messages: unknown[]) => ({ messages })

const good: Good[] = [
  { name: 'one question', request: { system: [{ text: 'Be brief.' }], ...of(user) } },
  {
    name: 'calls and their results',
    request: of(user, calls(use('a'), use('b')), says(result('b'), result('a'))),
  },
  {
    name: 'words and a file behind results',
    request: of(
      user,
      calls(thought, use('a')),
      says(result('a', { status: 'error' }), { text: 'And?' }, png, pdf('one')),
    ),
  },
  {
    name: 'what the provider executes, and citations',
    request: of(
      user,
      calls(
        { reasoningContent: { redactedContent: new Uint8Array([1]) } },
        { toolUse: { toolUseId: 's', name: 'nova_grounding', input: {}, type: 'server_tool_use' } },
        { toolResult: { toolUseId: 's', content: [], type: 'nova_grounding_result' } },
        { citationsContent: { content: [{ text: 'Oak.' }], citations: [{ title: 'Trees' }] } },
      ),
      user,
    ),
  },
]

const broken: Broken[] = [
  {
    name: 'undefined',
    request: of(says({ text: 'a' }, { guardContent: { a: undefined } })),
    breaks: ['json-only'],
  },
  { name: 'a lone surrogate', request: of(says({ text: '\ud800' })), breaks: ['text-well-formed'] },
  { name: 'a number for a text', request: of(says({ text: 7 })), breaks: ['wrong-type'] },
  {
    name: 'a call without input',
    request: of(user, calls({ toolUse: { toolUseId: 'a', name: 'ls' } }), says(result('a'))),
    breaks: ['missing-field'],
  },
  {
    name: 'a field of another provider',
    request: of(says({ text: 'a', cache_control: {} })),
    breaks: ['unknown-field'],
  },
  { name: 'two members', request: of(says({ text: 'a', ...png })), breaks: ['known-kind'] },
  { name: 'no messages', request: of(), breaks: ['user-ends'] },
  { name: 'a reply first', request: of(done, user), breaks: ['user-ends'] },
  { name: 'a reply last', request: of(user, done), breaks: ['user-ends'] },
  { name: 'two of a user', request: of(user, user), breaks: ['roles-alternate'] },
  { name: 'no content', request: of(says()), breaks: ['content-nonempty'] },
  {
    name: 'a result without content',
    request: of(user, calls(use('a')), says(result('a', { content: [] }))),
    breaks: ['content-nonempty'],
  },
  { name: 'a blank text', request: of(says({ text: ' ' })), breaks: ['text-nonblank'] },
  {
    name: 'a blank result',
    request: of(user, calls(use('a')), says(result('a', { content: [{ text: '' }] }))),
    breaks: ['text-nonblank'],
  },
  { name: 'reasoning of a user', request: of(says(thought, { text: 'a' })), breaks: ['blocks-by-role'] },
  {
    name: 'a call without a result',
    request: of(user, calls(use('a')), user),
    breaks: ['calls-have-results'],
  },
  {
    name: 'two results',
    request: of(user, calls(use('a')), says(result('a'), result('a'))),
    breaks: ['one-result-each'],
  },
  {
    name: 'a result without a call',
    request: of(user, done, says(result('a'))),
    breaks: ['results-follow-calls'],
  },
  {
    name: 'an id twice',
    request: of(user, calls(use('a')), says(result('a')), calls(use('a')), says(result('a'))),
    breaks: ['call-ids-unique'],
  },
  {
    name: 'a name with a dot',
    request: of(user, calls(use('a', 'a.b')), says(result('a'))),
    breaks: ['names'],
  },
  {
    name: 'reasoning without a signature',
    request: of(user, calls({ reasoningContent: { reasoningText: { text: 'Hm.' } } }, { text: 'a' }), user),
    breaks: ['reasoning'],
  },
  { name: 'reasoning last', request: of(user, calls({ text: 'a' }, thought), user), breaks: ['reasoning'] },
  { name: 'a document alone', request: of(says(pdf('one'))), breaks: ['documents'] },
  {
    name: 'two documents of a name',
    request: of(says({ text: 'a' }, pdf('one'), pdf('one'))),
    breaks: ['documents'],
  },
  { name: 'no bytes', request: of(says(image(new Uint8Array()))), breaks: ['bytes'] },
  { name: 'base64 for bytes', request: of(says(image('aW1n'))), breaks: ['bytes'] },
]

testTables({ validate: validateBedrock, rules: bedrockRules, good, broken })
