"""Sentence embeddings in the manner of sentence-transformers: a BERT of transformers, trained on pairs, then asked to encode."""
import torch
from torch.nn import functional as F
from transformers import BertConfig, BertModel


def encode(model, sentences):
    hidden = model(sentences).last_hidden_state
    return F.normalize(hidden.mean(1), dim=1)


def multiple_negatives_ranking_loss(anchors, positives):
    scores = anchors @ positives.T * 20
    return F.cross_entropy(scores, torch.arange(len(anchors)))


torch.manual_seed(0)
bert = BertModel(BertConfig(vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                            intermediate_size=256), add_pooling_layer=False)
optimizer = torch.optim.AdamW(bert.parameters(), lr=1e-3)
for _ in range(3):
    anchors, positives = torch.randint(0, 500, (2, 16, 32))
    loss = multiple_negatives_ranking_loss(encode(bert, anchors), encode(bert, positives))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
bert.eval()
corpus = torch.randint(0, 500, (128, 32))
embeddings = torch.cat([encode(bert, batch) for batch in corpus.split(32)])
print(embeddings.shape)
