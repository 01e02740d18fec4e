/** The triggers on conversations, which the sixth step made anew. */

/**
 * Appends fire none: their functions write what the triggers would. All else that changes a conversation fires both.
 */
export const appendTriggers = (schema: string): string => `
DROP TRIGGER feed_told ON ${schema}.conversations;
DROP TRIGGER listed ON ${schema}.conversations;
CREATE TRIGGER feed_told AFTER INSERT OR DELETE ON ${schema}.conversations
  FOR EACH ROW EXECUTE FUNCTION ${schema}.tell_feed();
CREATE TRIGGER feed_told_change AFTER UPDATE OF updated_at, title, public, tags, metadata, time_zone
  ON ${schema}.conversations
  FOR EACH ROW WHEN (NEW.version = OLD.version) EXECUTE FUNCTION ${schema}.tell_feed();
CREATE TRIGGER listed AFTER INSERT OR DELETE ON ${schema}.conversations
  FOR EACH ROW EXECUTE FUNCTION ${schema}.list_conversation();
CREATE TRIGGER listed_change AFTER UPDATE OF updated_at, status, public, tags ON ${schema}.conversations
  FOR EACH ROW WHEN (NEW.version = OLD.version) EXECUTE FUNCTION ${schema}.list_conversation();
`
