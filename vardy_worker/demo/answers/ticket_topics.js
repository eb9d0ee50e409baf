async function run(params) {
  const tickets = await list_tickets({ status: "open" });
  const texts = tickets.map((ticket) => `${ticket.subject}: ${ticket.body}`);
  const topics = ["delivery", "wrong product", "faulty product", "billing", "account"];
  const { labels, counts } = await classify(texts, topics, { instructions: "Judge what the customer needs." });
  const faulty = tickets.filter((ticket, place) => labels[place] === "faulty product");
  return { counts, faulty_product_tickets: faulty.map((ticket) => ticket.id) };
}
