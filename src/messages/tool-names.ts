/** Makes of a tool's name one that providers take, and the kind of its actions. */

/**
 * The name with an underscore for every other character, cut to `maxLength`; `tool` for one that is empty. O(length).
 */
export function toolName(given: string, maxLength: number): string {
  return given.replace(/[^a-zA-Z0-9_-]/gu, '_').slice(0, maxLength) || 'tool'
}

/** The kind of a tool's actions, made from its name: `file_editor` gives `FileEditorAction`. */
export function actionKind(name: string): string {
  const known = ACTION_KINDS.get(name)
  if (known !== undefined) return known
  const kind = `${name.replace(/(?:^[^a-zA-Z0-9]*|[^a-zA-Z0-9]+)([a-zA-Z0-9]?)/g, (_, first: string) => first.toUpperCase())}Action`
  // A conversation has few tools; who names more gains nothing by it.
  if (ACTION_KINDS.size < 256) ACTION_KINDS.set(name, kind)
  return kind
}

/** Those of tools seen before. */
const ACTION_KINDS = new Map<string, string>()
